//! Address space to give up. A process may have only so many mappings
//! (`vm.max_map_count`), and its limits may allow it only so much memory. A program that
//! has used up either goes on natively as if nothing were the matter; we need some for
//! code that it comes to, and at a fork. So some is kept that serves for nothing but to be
//! given back.

use super::mem::{self, PAGE};
use crate::cache::place;
use crate::{restore, vm};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Mappings of the app from which on it may be about to use up all; by default there are
/// 65,530.
const MANY: i64 = 16_384;
/// Bytes kept: room for copies of two chunks of code.
const KEPT: u64 = 4 << 20;
/// Those whose pages differ in protection from their neighbours, so that each is a mapping
/// of its own. A chunk of code takes three, and persisted code none that it has not got yet.
const DIVIDED: u64 = 64 * PAGE;

/// What the app has mapped, roughly.
static MADE: AtomicI64 = AtomicI64::new(0);
/// Where it is; 0: nowhere.
static SPARE: AtomicU64 = AtomicU64::new(0);
/// It has been given up.
static LOST: AtomicBool = AtomicBool::new(false);

/// The app has made a mapping, or divided one.
pub fn made() {
    if MADE.fetch_add(1, Ordering::Relaxed) == MANY {
        restore::join_all(&mut vm::lock());
        keep();
    }
}

/// It has removed one.
pub fn removed() {
    MADE.fetch_sub(1, Ordering::Relaxed);
}

/// Lays it in.
pub fn keep() {
    if SPARE.load(Ordering::Relaxed) != 0 {
        return;
    }
    let Ok(first) = place::anywhere(KEPT, mem::NONE) else {
        return;
    };
    for page in (first..first + DIVIDED).step_by(2 * PAGE as usize) {
        // SAFETY: just mapped, and used by nobody.
        let _ = unsafe { mem::protect(page, PAGE, mem::R) };
    }
    SPARE.store(first, Ordering::Relaxed);
    LOST.store(false, Ordering::Relaxed);
}

/// Gives it up; `false`: there is none.
pub fn give_up() -> bool {
    let first = SPARE.swap(0, Ordering::Relaxed);
    if first == 0 {
        return false;
    }
    LOST.store(true, Ordering::Relaxed);
    // SAFETY: nobody uses it.
    unsafe { mem::unmap(first, KEPT) }.is_ok()
}

/// What has been made in its place is done with, or has taken another's: lays it in again,
/// if it was given up.
pub fn put_back() {
    if LOST.load(Ordering::Relaxed) {
        keep();
    }
}
