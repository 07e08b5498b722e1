//! The one `clone` of the launcher.
//!
//! # Safety
//!
//! The child shares all memory with the parent. It starts on a stack of its own
//! and never returns into the parent's frames.
#![allow(unsafe_code)]

use crate::sys::Child;
use core::arch::asm;
use linux_raw_sys::general::{__NR_clone, CLONE_CHILD_CLEARTID, CLONE_UNTRACED, CLONE_VM};

/// Memory is shared, nothing else: descriptors, dispositions and directory are
/// copies, so that the app's stay untouched (a shared descriptor table would
/// lose its POSIX locks, a shared directory makes the exec unsafe). The exit
/// signal is 0: the app's own `wait` does not see H. Nor does a debugger of the
/// app, which H finds out about then.
const FLAGS: u32 = CLONE_VM | CLONE_CHILD_CLEARTID | CLONE_UNTRACED;

/// See [`crate::sys::Kernel::spawn`].
///
/// # Safety
/// As for [`crate::sys::Kernel::spawn`].
pub unsafe fn spawn(child: &Child) -> isize {
    let result: isize;
    // SAFETY: in the child `rsp` is `stack_top` and the code jumps to `entry`, which
    // never returns; in the parent only rax, rcx and r11 change.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") __NR_clone as usize => result,
            in("rdi") FLAGS as usize,
            in("rsi") child.stack_top,
            in("rdx") 0usize,
            in("r10") child.tid,
            in("r8") 0usize,
            in("r12") child.argument,
            in("r13") child.entry,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}
