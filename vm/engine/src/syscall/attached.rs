//! shmat(2).

use super::locked;
use super::outcome::{self, pass};
use super::pages::Pages;
use ppin_os::{c, mem, raw};
use ppin_process::vm;
use ppin_translate::changes;

/// `shmat` flag: the address is rounded down.
const SHM_RND: usize = 0o20_000;
/// `shmat` flag: existing mappings are replaced.
const SHM_REMAP: usize = 0o40_000;

/// The memory that attaching the segment replaces.
pub(super) fn replaced(args: &[usize; 6]) -> Option<Pages> {
    let page = mem::PAGE as usize;
    let at = if args[2] & SHM_RND != 0 {
        args[1] & !(page - 1)
    } else {
        args[1]
    };
    let remaps = args[2] & SHM_REMAP != 0 && at != 0;
    let size = if remaps { size(args[0]) } else { None };
    size.and_then(|size| Pages::new(at, size))
}

/// Makes the call.
pub(super) fn shmat(args: &[usize; 6]) -> isize {
    if args[2] & SHM_REMAP != 0 {
        changes::release_all(&mut vm::lock());
    }
    let result = pass(c::__NR_shmat, args);
    if outcome::ok(result) {
        // (Executable parts are registered when the program jumps there.)
        locked::attached(result as u64);
        let size = size(args[0]).unwrap_or(1);
        if let Some((start, end)) = Pages::new(result as usize, size).map(Pages::bounds) {
            changes::range(&mut vm::lock(), start, end);
        }
    }
    result
}

/// Size of segment `id` in bytes, if the kernel tells (shmctl(2)).
fn size(id: usize) -> Option<usize> {
    const IPC_STAT: usize = 2;
    /// Size of `struct shmid64_ds` and offset of `shm_segsz`, in words.
    const WORDS: usize = 14;
    const SIZE: usize = 6;
    let mut about = [0_usize; WORDS];
    let args = [id, IPC_STAT, about.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: the kernel writes one structure of that size.
    let asked = unsafe { raw(c::__NR_shmctl, args) };
    (asked == 0).then_some(about[SIZE])
}
