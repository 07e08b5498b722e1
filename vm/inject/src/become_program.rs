//! Launching from a process of our own, which has nothing to lose: the safe face of
//! [`crate::launch`] for the command line.
//!
//! # Safety
//!
//! [`Become::launch`] uses one static helper space. It takes it only once at a time:
//! a launch that returns has waited for its helper.
#![allow(unsafe_code)]

use crate::block::BootParams;
use crate::launch::{Exec, Failure, Launch, launch};
use crate::space::HelperSpace;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};
use ppin_abi::boot::RuntimeSpan;

/// The environment that this process was started with, word for word: entries
/// without `=`, which the standard library would drop, included.
#[derive(Clone, Copy, Debug)]
pub struct Environ(*const *const u8);

impl Environ {
    /// From the third argument of C's `main`.
    ///
    /// # Safety
    /// `envp` is that argument, and the environment is never changed.
    #[must_use]
    pub const unsafe fn from_main(envp: *const *const u8) -> Self {
        Self(envp)
    }
}

/// A program to become.
#[derive(Debug)]
pub struct Become<'a> {
    /// For the boot block.
    pub boot: BootParams<'a>,
    /// The file that holds the runtime.
    pub carrier: &'a CStr,
    /// Where in it.
    pub runtime: RuntimeSpan,
    /// File to execute.
    pub path: &'a CStr,
    /// Its arguments, its name first.
    pub argv: &'a [CString],
    /// Its environment.
    pub environ: Environ,
}

struct Space(UnsafeCell<MaybeUninit<HelperSpace>>);

// SAFETY: guarded by `BUSY`.
unsafe impl Sync for Space {}

static SPACE: Space = Space(UnsafeCell::new(MaybeUninit::zeroed()));
static BUSY: AtomicBool = AtomicBool::new(false);

impl Become<'_> {
    /// Becomes the program. Returns only if that failed.
    ///
    /// # Panics
    /// Another thread is launching.
    #[must_use]
    pub fn launch(&self) -> Failure {
        let mut argv: Vec<*const u8> = self.argv.iter().map(|word| word.as_ptr().cast()).collect();
        argv.push(core::ptr::null());
        let exec = Exec {
            at: None,
            path: self.path.as_ptr().cast(),
            argv: argv.as_ptr(),
            envp: self.environ.0,
        };
        let request = Launch {
            boot: self.boot,
            carrier: self.carrier,
            runtime: self.runtime,
            ident: None,
            exec,
        };
        assert!(!BUSY.swap(true, Ordering::Acquire), "one launch at a time");
        // SAFETY: the space is ours alone (see the module); all pointers are alive.
        let failure = unsafe { launch(SPACE.0.get().cast(), &request) };
        BUSY.store(false, Ordering::Release);
        failure
    }
}
