//! The processor as the one who executes system calls.
//!
//! # Safety
//!
//! As in [`crate::sys`]: the caller vouches for all that a call does.
#![allow(unsafe_code)]

use crate::sys::{Args, Child, Kernel, syscall};
use crate::{guarded, spawn};
use core::sync::atomic::AtomicU32;

/// The CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Kernel for Cpu {
    unsafe fn call(&mut self, number: u32, args: Args) -> isize {
        // SAFETY: the caller's contract.
        unsafe { syscall(number, args) }
    }

    unsafe fn spawn(&mut self, child: &Child) -> isize {
        // SAFETY: the caller's contract.
        unsafe { spawn::spawn(child) }
    }

    unsafe fn exec(&mut self, word: &AtomicU32, number: u32, args: &Args) -> isize {
        // SAFETY: the caller's contract.
        unsafe { guarded::exec(word, number, args) }
    }
}
