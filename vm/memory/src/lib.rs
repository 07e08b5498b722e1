//! The memory routines that compiled Rust calls by their C names, for what runs without the C
//! library: tools, the runtime, and the `ppin` executable until that library has been started,
//! which chooses its own routines by processor then. [`memory_names`] gives them the names.
//!
//! # Safety
//!
//! Contracts are C's. Bodies are string instructions, single words, and small asm loops, because
//! a loop written in Rust may be compiled into a call of the routine itself.

#![cfg_attr(not(test), no_std)]

mod copy;

pub use copy::{memcpy, memmove};
use core::arch::asm;

/// C's `memset`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    // SAFETY: the caller's contract.
    unsafe {
        asm!(
            "rep stosb",
            inout("rcx") len => _, inout("rdi") to => _, in("al") byte as u8,
            options(nostack, preserves_flags),
        );
    }
    to
}

/// C's `memcmp`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, len: usize) -> i32 {
    let mut at = 0;
    // SAFETY: the caller's contract; `at + 8 <= len`.
    unsafe {
        while len - at >= 8 {
            let one = left.add(at).cast::<u64>().read_unaligned();
            let other = right.add(at).cast::<u64>().read_unaligned();
            if one != other {
                // The first differing byte decides: compare as big-endian numbers.
                return if one.swap_bytes() < other.swap_bytes() {
                    -1
                } else {
                    1
                };
            }
            at += 8;
        }
        while at < len {
            let difference = i32::from(left.add(at).read()) - i32::from(right.add(at).read());
            if difference != 0 {
                return difference;
            }
            at += 1;
        }
    }
    0
}

/// C's `bcmp`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn bcmp(left: *const u8, right: *const u8, len: usize) -> i32 {
    // SAFETY: the caller's contract.
    unsafe { memcmp(left, right, len) }
}

/// C's `strlen`.
///
/// # Safety
/// As C's.
pub unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let end: *const u8;
    // SAFETY: the caller's contract.
    unsafe {
        asm!(
            "2: cmp byte ptr [{at}], 0",
            "je 3f",
            "inc {at}",
            "jmp 2b",
            "3:",
            at = inout(reg) text => end,
            options(nostack, readonly),
        );
    }
    end as usize - text as usize
}

/// Gives the routines their names of C, in an executable or shared object. Other objects do not see
/// the names.
#[macro_export]
macro_rules! memory_names {
    () => {
        core::arch::global_asm!(
            ".pushsection .text.ppin_memory_names, \"ax\"",
            ".globl memcpy, memmove, memset, memcmp, bcmp, strlen",
            ".hidden memcpy, memmove, memset, memcmp, bcmp, strlen",
            "memcpy: jmp {memcpy}",
            "memmove: jmp {memmove}",
            "memset: jmp {memset}",
            "memcmp: jmp {memcmp}",
            "bcmp: jmp {bcmp}",
            "strlen: jmp {strlen}",
            ".popsection",
            memcpy = sym $crate::memcpy,
            memmove = sym $crate::memmove,
            memset = sym $crate::memset,
            memcmp = sym $crate::memcmp,
            bcmp = sym $crate::bcmp,
            strlen = sym $crate::strlen,
        );
    };
}

/// [`memory_names`], and two names that precompiled `core` wants where no C library is linked. They
/// are never called, since panics abort: `rust_eh_personality` and `_Unwind_Resume`.
#[macro_export]
macro_rules! c_names {
    () => {
        $crate::memory_names!();
        core::arch::global_asm!(
            ".pushsection .text.ppin_c_names, \"ax\"",
            ".globl rust_eh_personality, _Unwind_Resume",
            ".hidden rust_eh_personality, _Unwind_Resume",
            "rust_eh_personality:",
            "_Unwind_Resume: ud2",
            ".popsection",
        );
    };
}
