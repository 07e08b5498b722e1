//! The host services of the tool API: counters, threads, images, files.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ppin_api::{
    Counters, FileError, FileId, Files, ImageId, ImageInfo, Images, Program, StateCopy, StateId,
    States, ThreadId, ThreadInfo, Threads,
};
use ppin_os::{Errno, c, proc};
use ppin_process::counters;
use ppin_process::report::outlet;
use ppin_process::report::program::program;
use ppin_process::vm::{self, Vm};

/// Host services for tools. Each call takes the VM lock as it needs it.
#[derive(Debug)]
pub struct EngineHost;

/// Paths of files opened for tools. No descriptor is kept open in the app.
static OPENED: ppin_os::lock::Mutex<Vec<String>> = ppin_os::lock::Mutex::new(Vec::new());

impl Counters for EngineHost {
    fn global_total(&self, index: u32) -> u64 {
        let all = all_globals(&vm::lock());
        let counts = all.iter().filter_map(|(_, _, all)| all.get(index as usize));
        counts.sum()
    }

    fn global_of(&self, thread: ThreadId, index: u32) -> u64 {
        let vm = vm::lock();
        let live = vm.threads().all().find(|t| t.index == thread.0);
        live.map(|t| counters::global(t, counters::cells(&vm), index))
            .or_else(|| vm.ended().global(thread.0, index))
            .unwrap_or(0)
    }

    fn image_total(&self, image: ImageId, index: u32) -> u64 {
        let mut vm = vm::lock();
        let known = (image.0 as usize) < vm.code().images().len();
        if known {
            counters::image_total(&mut vm, ppin_images::ImageId(image.0), index)
        } else {
            0
        }
    }
}

impl States for EngineHost {
    fn merged(&self, id: StateId) -> Option<Box<dyn StateCopy>> {
        ppin_process::states::merged(&vm::lock(), id)
    }
}

impl Threads for EngineHost {
    fn threads(&self) -> Vec<ThreadInfo> {
        let mut all = all_globals(&vm::lock());
        all.sort_unstable_by_key(|(id, _, _)| *id);
        all.iter()
            .map(|(id, tid, _)| ThreadInfo {
                id: ThreadId(*id),
                tid: *tid as u32,
            })
            .collect()
    }
}

impl Images for EngineHost {
    fn images(&self) -> Vec<ImageInfo> {
        let vm = vm::lock();
        let images = vm.code().images();
        images.learn_paths();
        images
            .iter()
            .map(|(id, i)| ImageInfo {
                id: ImageId(id.0),
                path: i.path().into(),
                base: i.base,
            })
            .collect()
    }
}

impl Program for EngineHost {
    fn process_id(&self) -> u32 {
        proc::pid() as u32
    }

    fn program(&self) -> String {
        program()
    }
}

impl Files for EngineHost {
    fn open(&self, path: &str) -> Result<FileId, FileError> {
        let path = absolute(&path.replace("%p", &proc::pid().to_string()));
        outlet::check(&path).map_err(|e| FileError(e.0))?;
        let mut opened = OPENED.lock();
        opened.push(path);
        Ok(FileId(opened.len() as u32 - 1))
    }

    fn append_parts(&self, file: FileId, parts: &[&[u8]]) -> Result<(), FileError> {
        let path = OPENED
            .lock()
            .get(file.0 as usize)
            .cloned()
            .ok_or(FileError(Errno::EBADF.0))?;
        outlet::append_parts(&path, parts).map_err(|e| FileError(e.0))
    }
}

/// `path` made independent of later changes of directory.
fn absolute(path: &str) -> String {
    let mut buffer = [0u8; 4096];
    // SAFETY: a buffer of ours.
    let len = unsafe {
        ppin_os::call(
            c::__NR_getcwd,
            [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0],
        )
    };
    match len {
        Ok(len) if !path.starts_with('/') => {
            let cwd = String::from_utf8_lossy(&buffer[..len.saturating_sub(1)]);
            alloc::format!("{cwd}/{path}")
        }
        _ => String::from(path),
    }
}

/// Number, kernel id and global counters of all threads, ended ones included.
fn all_globals(vm: &Vm) -> Vec<(u32, i32, Vec<u64>)> {
    let mut all = vm.ended().threads().to_vec();
    let cells = counters::cells(vm);
    for thread in vm.threads().all() {
        all.push((thread.index, thread.tid, counters::globals(thread, cells)));
    }
    all
}
