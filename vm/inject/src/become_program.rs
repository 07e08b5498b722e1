//! The safe face of [`mod@crate::launch`] for a command line that owns its words.
#![allow(unsafe_code)]

use crate::block::BootParams;
use crate::launch::{Carrier, Exec, Failure, Launch};
use crate::launch_once;
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;
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
            carrier: Carrier::At(self.carrier),
            runtime: self.runtime,
            ident: None,
            exec,
        };
        // SAFETY: all of them are alive.
        unsafe { launch_once(&request) }
    }
}
