//! Launching from a process of our own, which has nothing to lose.
//!
//! # Safety
//!
//! There is one static helper space. It is taken only once at a time: a launch that returns has
//! waited for its helper.
#![allow(unsafe_code)]

use crate::launch::{Failure, Launch, launch};
use crate::space::HelperSpace;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

struct Space(UnsafeCell<MaybeUninit<HelperSpace>>);

// SAFETY: guarded by `BUSY`.
unsafe impl Sync for Space {}

static SPACE: Space = Space(UnsafeCell::new(MaybeUninit::zeroed()));
static BUSY: AtomicBool = AtomicBool::new(false);

/// Executes the program that `request` names. Returns only if that failed.
///
/// # Panics
/// Another thread is launching.
///
/// # Safety
/// The pointers of `request.exec` are those of strings and lists that `execve` may read.
#[must_use]
pub unsafe fn launch_once(request: &Launch<'_>) -> Failure {
    assert!(!BUSY.swap(true, Ordering::Acquire), "one launch at a time");
    // SAFETY: the space is ours alone (see the module); the rest is the caller's contract.
    let failure = unsafe { launch(SPACE.0.get().cast(), request) };
    BUSY.store(false, Ordering::Release);
    failure
}
