//! What is kept for when memory or mappings run out: memory for when mmap(2) is no longer possible
//! ([`crate::reserve`]), and mappings to give up ([`crate::spare`]).

use crate::filter::may;
use crate::mem::{self, PAGE};
use crate::{budget, c, place, reserve, spare};
use core::sync::atomic::{AtomicI64, Ordering};
use ppin_seccomp::Confinement;

const LEAST: u64 = 1 << 20;
/// With this many mappings the app may be about to use up all; by default it may have 65,530.
const MANY: i64 = 16_384;
/// Size of the part of the spare memory whose pages alternate in protection, so that each is a
/// mapping of its own. A chunk of code takes three mappings; persisted code needs none beyond those
/// it has.
const ALTERNATING: u64 = 64 * PAGE;

/// Number of the app's mappings, roughly.
static APP_MAPPINGS: AtomicI64 = AtomicI64::new(0);

/// Reserves memory for the rest of the program's life, unless enough is reserved already. Pages
/// that are not touched cost nothing.
pub fn fill() {
    fill_with(budget::for_life());
}

/// Reserves memory for a program under a memory limit, where a full heap would end the run.
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

/// Whether a reserve is needed, because the filters `next` forbid the heap and threads to map
/// memory.
#[must_use]
pub fn is_needed(next: &Confinement) -> bool {
    !may(next, c::__NR_mmap, &mapping(mem::RW))
}

/// Arguments of an mmap(2) call as the VM makes it under a filter.
#[must_use]
pub fn mapping(protection: u32) -> [usize; 6] {
    let flags = c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE;
    let len = LEAST as usize;
    [0, len, protection as usize, flags as usize, usize::MAX, 0]
}

/// Notes that the app has made a mapping, or split one. `true`: it has so many by now that it may
/// be about to use up all. Then the caller should free what the VM can do without, and lay in spare
/// mappings ([`keep`]).
#[must_use]
pub fn mapping_added() -> bool {
    APP_MAPPINGS.fetch_add(1, Ordering::Relaxed) == MANY
}

/// Notes that the app has removed a mapping.
pub fn mapping_removed() {
    APP_MAPPINGS.fetch_sub(1, Ordering::Relaxed);
}

/// Maps the spare mappings, if there are none.
pub fn keep() {
    if spare::is_kept() {
        return;
    }
    let Ok(first) = place::anywhere(spare::KEPT, mem::NONE) else {
        return;
    };
    for page in (first..first + ALTERNATING).step_by(2 * PAGE as usize) {
        // SAFETY: just mapped, and used by nobody.
        let _ = unsafe { mem::protect(page, PAGE, mem::R) };
    }
    spare::kept_at(first);
}

/// Maps the spare mappings again if they were given up: what took their place is gone, or has
/// replaced another mapping.
pub fn put_back() {
    if spare::is_lost() {
        keep();
    }
}
