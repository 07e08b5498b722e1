//! Where the C library hands over.
//!
//! # Safety
//!
//! `main` has C's signature and is the only one; its third argument is the
//! environment, which nothing here changes.
#![allow(unsafe_code)]

use crate::{args, verb};
use ppin_inject::Environ;
use std::ffi::c_int;

/// The standard library finds the arguments by itself.
#[unsafe(no_mangle)]
extern "C" fn main(_: c_int, _: *const *const u8, envp: *const *const u8) -> c_int {
    // SAFETY: see the module.
    let environ = unsafe { Environ::from_main(envp) };
    c_int::from(verb::dispatch(&args::parse(), environ))
}
