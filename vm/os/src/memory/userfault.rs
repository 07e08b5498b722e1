//! Pages that the program itself brings (userfaultfd(2)). A thread of it is told of accesses
//! to them, and of forks; who makes one of these waits in the kernel until that thread has
//! been told. It may need the VM to get so far, so nobody waits for it with our locks.
//!
//! - Code is read as far as its pages are there ([`readable`]); the rest is waited for before
//!   the VM is locked ([`bring`]).
//! - A fork takes all locks for the sake of the child's copy of what they guard. As soon as
//!   that copy is made, whoever waits for one of them takes it over ([`fork`], [`copied::is_copied`]).

use crate::call::call;
use crate::lock::Word;
use crate::{c, copied, mem, peek};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// There is, or was, a userfaultfd.
static ON: AtomicBool = AtomicBool::new(false);
/// Forks so far, of those that lend their locks.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Of the device by which one may be had (userfaultfd(2)).
pub const DEVICE: &[u8] = b"userfaultfd";
/// More than any instruction has bytes.
const INSTRUCTION: u64 = 16;

/// The program has got a userfaultfd, or may get one.
pub fn begin() {
    ON.store(true, Ordering::Relaxed);
}

/// From here on the program's filter would judge what we ask.
pub fn end() {
    ON.store(false, Ordering::Relaxed);
}

/// Whether it has.
#[must_use]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// How many of the `len` bytes of code at app address `pc` can be read without waiting.
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

/// Whether the page at `page` is in memory, or nobody could bring it (mincore(2)).
fn is_there(page: u64) -> bool {
    let mut state = [1_u8];
    let args = [page as usize, 1, state.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: one byte for one page.
    let _ = unsafe { call(c::__NR_mincore, args) };
    state[0] & 1 != 0
}

/// Waits for the code of the instruction at app address `pc`, or for a signal (`pending` is not 0
/// then); the caller has no lock.
pub fn bring(pc: u64, pending: &AtomicU64) {
    peek::touch(pc, pending);
}

/// The same, if it goes on in the next page.
pub fn bring_rest(pc: u64, pending: &AtomicU64) {
    let last = pc.wrapping_add(INSTRUCTION - 1);
    if mem::page_down(last) != mem::page_down(pc) {
        bring(last, pending);
    }
}

/// Makes the fork, as `call` does; the caller holds `locks`, taken in this order, and has them
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
        // Who has taken over the first may be waiting for the second.
        locks.iter().for_each(|lock| lock.end_of_loan(number));
        locks.iter().for_each(|lock| _ = lock.lock());
    }
    result
}
