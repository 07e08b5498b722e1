//! The process around the tool.

use super::callbacks::info;
use super::state::taken;
use crate::table::{self, Each, Slice, Text, ThreadRow};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_api::{
    Counters, FileError, FileId, Files, ImageId, ImageInfo, Images, Program, StateCopy, StateId,
    States, ThreadId, ThreadInfo, Threads,
};

/// A host on the other side.
pub struct Remote<'a>(pub table::Host<'a>);

// SAFETY: the host is `Sync` (`ppin_api::Host`), and its functions may be called by any thread.
#[allow(unsafe_code)]
unsafe impl Sync for Remote<'_> {}

impl Counters for Remote<'_> {
    fn global_total(&self, index: u32) -> u64 {
        (self.0.functions.global_total)(self.0.this, index)
    }

    fn global_of(&self, thread: ThreadId, index: u32) -> u64 {
        (self.0.functions.global_of)(self.0.this, thread.0, index)
    }

    fn image_total(&self, image: ImageId, index: u32) -> u64 {
        (self.0.functions.image_total)(self.0.this, image.0, index)
    }
}

impl States for Remote<'_> {
    fn merged(&self, id: StateId) -> Option<Box<dyn StateCopy>> {
        taken((self.0.functions.merged)(self.0.this, id.0))
    }
}

impl Threads for Remote<'_> {
    fn threads(&self) -> Vec<ThreadInfo> {
        let mut all = Vec::new();
        let mut take = |row: &ThreadRow| {
            all.push(ThreadInfo {
                id: ThreadId(row.id),
                tid: row.tid,
            });
        };
        (self.0.functions.threads)(self.0.this, Each::new(&mut take));
        all
    }
}

impl Images for Remote<'_> {
    fn images(&self) -> Vec<ImageInfo> {
        let mut all = Vec::new();
        let mut take = |row: &table::ImageRow<'_>| all.push(info(row));
        (self.0.functions.images)(self.0.this, Each::new(&mut take));
        all
    }
}

impl Program for Remote<'_> {
    fn process_id(&self) -> u32 {
        (self.0.functions.process_id)(self.0.this)
    }

    fn program(&self) -> String {
        let mut program = String::new();
        let mut take = |text: &Text<'_>| program = text.text().into();
        (self.0.functions.program)(self.0.this, Each::new(&mut take));
        program
    }
}

impl Files for Remote<'_> {
    fn open(&self, path: &str) -> Result<FileId, FileError> {
        let number = (self.0.functions.open)(self.0.this, Text::of(path));
        u32::try_from(number)
            .map(FileId)
            .map_err(|_| FileError(number.unsigned_abs() as i32))
    }

    fn append_parts(&self, file: FileId, parts: &[&[u8]]) -> Result<(), FileError> {
        let parts: Vec<_> = parts.iter().map(|part| Slice::new(part)).collect();
        match (self.0.functions.append)(self.0.this, file.0, Slice::new(&parts)) {
            0 => Ok(()),
            error => Err(FileError(error)),
        }
    }
}
