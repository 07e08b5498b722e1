//! What is laid in for hard times: memory for when none can be mapped any more
//! ([`crate::reserve`]), and mappings to give up ([`crate::spare`]).

use crate::filter::may;
use crate::mem::{self, PAGE};
use crate::{budget, c, place, reserve, spare};
use core::sync::atomic::{AtomicI64, Ordering};
use ppin_seccomp::Confinement;

const LEAST: u64 = 1 << 20;
/// Mappings of the app from which on it may be about to use up all; by default there are
/// 65,530.
const MANY: i64 = 16_384;
/// Those whose pages differ in protection from their neighbours, so that each is a mapping
/// of its own. A chunk of code takes three, and persisted code none that it has not got yet.
const DIVIDED: u64 = 64 * PAGE;

/// What the app has mapped, roughly.
static MADE: AtomicI64 = AtomicI64::new(0);

/// Lays in what a program's rest of life may take, if there is not enough yet; pages count
/// when they are touched.
pub fn fill() {
    fill_with(budget::for_life());
}

/// The same for a program that is limited: a full heap is the end.
pub fn fill_under_limit() {
    fill_with(budget::reserve());
}

fn fill_with(mut len: u64) {
    while reserve::left() < len / 2 && len >= LEAST {
        if let Ok(start) = place::anywhere(len, mem::RW) {
            return reserve::lay_in(start, len);
        }
        len /= 2;
    }
}

/// Whether the heap and threads can still get memory from the kernel under `next`.
#[must_use]
pub fn is_needed(next: &Confinement) -> bool {
    !may(next, c::__NR_mmap, &mapping(mem::RW))
}

/// A mapping as the VM asks for it under a filter.
#[must_use]
pub fn mapping(protection: u32) -> [usize; 6] {
    let flags = c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE;
    let len = LEAST as usize;
    [0, len, protection as usize, flags as usize, usize::MAX, 0]
}

/// The app has made a mapping, or divided one. `true`: it has so many by now that it may be about
/// to use up all: what we can do without should go, and then spare ones be laid in ([`keep`]).
#[must_use]
pub fn made() -> bool {
    MADE.fetch_add(1, Ordering::Relaxed) == MANY
}

/// It has removed one.
pub fn removed() {
    MADE.fetch_sub(1, Ordering::Relaxed);
}

/// Lays spare mappings in.
pub fn keep() {
    if spare::is_kept() {
        return;
    }
    let Ok(first) = place::anywhere(spare::KEPT, mem::NONE) else {
        return;
    };
    for page in (first..first + DIVIDED).step_by(2 * PAGE as usize) {
        // SAFETY: just mapped, and used by nobody.
        let _ = unsafe { mem::protect(page, PAGE, mem::R) };
    }
    spare::kept_at(first);
}

/// What has been made in their place is done with, or has taken another's: lays them in again,
/// if they were given up.
pub fn put_back() {
    if spare::is_lost() {
        keep();
    }
}
