//! Whether a forked child has its copy of this memory, while the fork is still under way.

use crate::call::call;
use crate::file::File;
use crate::{c, mem};
use core::cell::UnsafeCell;

static MARK: Mark = Mark(UnsafeCell::new([0; mem::PAGE as usize]));

/// A page of memory that is private to this process until a child has its copy.
#[repr(C, align(4096))]
struct Mark(UnsafeCell<[u8; mem::PAGE as usize]>);

// SAFETY: written to by the holder of all locks only, and read by nobody.
unsafe impl Sync for Mark {}

/// A fork is about to be made, the `number`th; the caller has all locks. From here on the page
/// is private to this process.
pub(crate) fn mark(number: u32) {
    // SAFETY: the caller has all locks.
    unsafe { MARK.0.get().cast::<u32>().write_volatile(number) };
}

/// Whether the child of the fork that is under way has its copy of this memory: it maps the
/// page, too, and the kernel does not copy any more.
#[must_use]
pub(crate) fn is_copied() -> bool {
    /// Of an entry (Documentation/admin-guide/mm/pagemap.rst).
    const PRESENT: u64 = 1 << 63;
    const EXCLUSIVE: u64 = 1 << 56;
    let page = MARK.0.get() as u64;
    let mut entry = [0; 8];
    // (Without the heap, which may be what is waited for.)
    let read = File::open_at(c::AT_FDCWD, c"/proc/self/pagemap".to_bytes_with_nul(), 0)
        .and_then(|file| file.read_at(&mut entry, page / mem::PAGE * 8));
    let entry = u64::from_le_bytes(entry);
    let shared = read == Ok(8) && entry & PRESENT != 0 && entry & EXCLUSIVE == 0;
    let args = [page as usize, mem::PAGE as usize, mem::RW as usize, 0, 0, 0];
    // SAFETY: as it is protected already; the call waits for the end of the copying.
    shared && unsafe { call(c::__NR_mprotect, args) }.is_ok()
}
