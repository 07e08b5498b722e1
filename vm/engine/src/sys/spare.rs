//! Mappings to give up. A process may have only so many (`vm.max_map_count`). A program
//! that has made them all goes on natively as if nothing were the matter; we need some for
//! code that it comes to, and at a fork. So when it has made very many, some are made
//! that serve for nothing but to be given back.

use super::mem::{self, PAGE};
use crate::cache::place;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Mappings of the app from which on it may be about to use up all; by default there are
/// 65,530.
const MANY: i64 = 16_384;
/// Pages kept. Neighbours differ in protection, so that each is a mapping of its own.
const PAGES: u64 = 512;

/// What the app has mapped, roughly.
static MADE: AtomicI64 = AtomicI64::new(0);
/// Where the pages are; 0: nowhere.
static SPARE: AtomicU64 = AtomicU64::new(0);

/// The app has made a mapping, or divided one.
pub fn made() {
    if MADE.fetch_add(1, Ordering::Relaxed) == MANY {
        take();
    }
}

/// It has removed one.
pub fn removed() {
    MADE.fetch_sub(1, Ordering::Relaxed);
}

fn take() {
    if SPARE.load(Ordering::Relaxed) != 0 {
        return;
    }
    let Ok(first) = place::anywhere(PAGES * PAGE, mem::NONE) else {
        return;
    };
    for page in (first..first + PAGES * PAGE).step_by(2 * PAGE as usize) {
        // SAFETY: just mapped, and used by nobody.
        let _ = unsafe { mem::protect(page, PAGE, mem::R) };
    }
    SPARE.store(first, Ordering::Relaxed);
}

/// Gives them up; `false`: there are none.
pub fn give_up() -> bool {
    let first = SPARE.swap(0, Ordering::Relaxed);
    // SAFETY: nobody uses them.
    first != 0 && unsafe { mem::unmap(first, PAGES * PAGE) }.is_ok()
}
