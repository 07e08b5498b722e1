//! The host as one of several tools sees it: its own counters, from 0 on.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_api::{
    Counters, FileError, FileId, Files, Host, ImageId, ImageInfo, Images, Program, StateCopy,
    StateId, States, ThreadId, ThreadInfo, Threads,
};

/// See the module. Of counters and states: where they begin, and how many there are.
pub struct Shifted<'a> {
    pub host: &'a dyn Host,
    pub globals: (u32, u32),
    pub images: (u32, u32),
    pub states: (u32, u32),
}

/// What among all is number `index` of a tool's own; `None`: it has not so many.
fn shifted((first, count): (u32, u32), index: u32) -> Option<u32> {
    (index < count).then(|| first + index)
}

impl Counters for Shifted<'_> {
    fn global_total(&self, index: u32) -> u64 {
        shifted(self.globals, index).map_or(0, |index| self.host.global_total(index))
    }

    fn global_of(&self, thread: ThreadId, index: u32) -> u64 {
        shifted(self.globals, index).map_or(0, |index| self.host.global_of(thread, index))
    }

    fn image_total(&self, image: ImageId, index: u32) -> u64 {
        shifted(self.images, index).map_or(0, |index| self.host.image_total(image, index))
    }
}

impl States for Shifted<'_> {
    fn merged(&self, id: StateId) -> Option<Box<dyn StateCopy>> {
        let number = shifted(self.states, id.0.into())?;
        self.host.merged(StateId(number as u16))
    }
}

impl Threads for Shifted<'_> {
    fn threads(&self) -> Vec<ThreadInfo> {
        self.host.threads()
    }
}

impl Images for Shifted<'_> {
    fn images(&self) -> Vec<ImageInfo> {
        self.host.images()
    }
}

impl Program for Shifted<'_> {
    fn process_id(&self) -> u32 {
        self.host.process_id()
    }

    fn program(&self) -> String {
        self.host.program()
    }
}

impl Files for Shifted<'_> {
    fn open(&self, path: &str) -> Result<FileId, FileError> {
        self.host.open(path)
    }

    fn append_parts(&self, file: FileId, parts: &[&[u8]]) -> Result<(), FileError> {
        self.host.append_parts(file, parts)
    }
}
