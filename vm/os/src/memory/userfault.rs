//! Pages that the program itself brings (userfaultfd(2)). One of its threads is told of accesses to
//! such pages, and of forks. A thread that makes such an access or fork waits in the kernel until
//! that thread has been told. The thread that is told may need the VM, so nobody may wait for it
//! while holding the VM's locks.
//!
//! - Code is read up to the first page that is absent ([`readable`]). Absent pages are waited for
//!   before the VM is locked ([`bring`]).
//! - A fork holds all locks, so that the child's copy of the memory is consistent. As soon as that
//!   copy exists, a thread that waits for one of the locks takes it over ([`fork`],
//!   [`copied::is_copied`]).

use crate::call::call;
use crate::lock::Word;
use crate::{c, copied, mem, peek};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The program has, or had, a userfaultfd.
static ON: AtomicBool = AtomicBool::new(false);
/// Number of forks so far that have lent their locks.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Name of the device that makes a userfaultfd (userfaultfd(2)).
pub const DEVICE: &[u8] = b"userfaultfd";
/// More than any instruction has bytes.
const INSTRUCTION: u64 = 16;

/// Notes that the program has got a userfaultfd, or may get one.
pub fn begin() {
    ON.store(true, Ordering::Relaxed);
}

/// Stops looking at pages, because the program's filter would judge the calls that this takes.
pub fn end() {
    ON.store(false, Ordering::Relaxed);
}

/// Whether the program may have a userfaultfd.
#[must_use]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// How many of the `len` bytes at app address `pc` (code, or a cell that code goes by) can be read without waiting.
#[must_use]
pub fn readable(pc: u64, len: usize) -> usize {
    if !is_on() {
        return len;
    }
    let end = pc.saturating_add(len as u64);
    let pages = (mem::page_down(pc)..end).step_by(mem::PAGE as usize);
    let absent = pages.into_iter().find(|page| !is_there(*page));
    absent.map_or(len, |page| page.saturating_sub(pc) as usize)
}

/// Whether the page at `page` is in memory (mincore(2)), or cannot be asked for.
fn is_there(page: u64) -> bool {
    let mut state = [1_u8];
    let args = [page as usize, 1, state.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: one byte for one page.
    let _ = unsafe { call(c::__NR_mincore, args) };
    state[0] & 1 != 0
}

/// Waits until the code of the instruction at app address `pc` is in memory, or a signal is pending
/// (`pending` is not 0). The caller holds no lock.
pub fn bring(pc: u64, pending: &AtomicU64) {
    peek::touch(pc, pending);
}

/// Waits, like [`bring`], for the page in which the instruction at `pc` may end, if that is the
/// next one.
pub fn bring_rest(pc: u64, pending: &AtomicU64) {
    let last = pc.wrapping_add(INSTRUCTION - 1);
    if mem::page_down(last) != mem::page_down(pc) {
        bring(last, pending);
    }
}

/// Makes the fork by calling `call`. The caller holds `locks`, taken in this order, and holds them
/// again afterwards.
pub fn fork(locks: [&Word; 2], call: impl FnOnce() -> isize) -> isize {
    if !is_on() {
        return call();
    }
    let number = FORKS.fetch_add(1, Ordering::Relaxed);
    copied::mark(number);
    locks.iter().for_each(|lock| lock.lend(number));
    let result = call();
    if result != 0 {
        // Free both before taking either again: a thread that has taken over the first may be
        // waiting for the second.
        locks.iter().for_each(|lock| lock.end_of_loan(number));
        locks.iter().for_each(|lock| _ = lock.lock());
    }
    result
}
