//! Whether the child of a fork that is under way has its copy of this memory.

use crate::call::call;
use crate::file::File;
use crate::{c, mem};
use core::cell::UnsafeCell;

static MARK: Mark = Mark(UnsafeCell::new([0; 2 * mem::PAGE as usize]));

/// Holds a page that only this process maps until a child has its copy of the memory. (Were it aligned
/// to a page, all statics of zeroes would begin at one, apart from those that are written to with
/// them.)
struct Mark(UnsafeCell<[u8; 2 * mem::PAGE as usize]>);

impl Mark {
    fn page(&self) -> u64 {
        mem::page_up(self.0.get() as u64)
    }
}

// SAFETY: written to by the holder of all locks only, and read by nobody.
unsafe impl Sync for Mark {}

/// Writes `number`, that of the fork about to be made, to the page, so that only this process maps
/// it. The caller holds all locks.
pub(crate) fn mark(number: u32) {
    // SAFETY: the caller has all locks.
    unsafe { (MARK.page() as *mut u32).write_volatile(number) };
}

/// Whether the child of the fork under way has its copy of this memory: the child maps the page,
/// too, and the kernel has stopped copying.
#[must_use]
pub(crate) fn is_copied() -> bool {
    /// Bits of a pagemap entry (Documentation/admin-guide/mm/pagemap.rst).
    const PRESENT: u64 = 1 << 63;
    const EXCLUSIVE: u64 = 1 << 56;
    let page = MARK.page();
    let mut entry = [0; 8];
    // (Without the heap, whose lock the caller may be waiting for.)
    let read = File::open_at(c::AT_FDCWD, c"/proc/self/pagemap".to_bytes_with_nul(), 0)
        .and_then(|file| file.read_at(&mut entry, page / mem::PAGE * 8));
    let entry = u64::from_le_bytes(entry);
    let shared = read == Ok(8) && entry & PRESENT != 0 && entry & EXCLUSIVE == 0;
    let args = [page as usize, mem::PAGE as usize, mem::RW as usize, 0, 0, 0];
    // SAFETY: the protection stays the same; the call waits for the end of the copying.
    shared && unsafe { call(c::__NR_mprotect, args) }.is_ok()
}
