//! `int 0x80` in 64-bit code: the kernel's 32-bit call table. Calls that neither
//! change mappings nor make or end threads run natively; the others are refused.

use crate::thread::{Thread, reg};

/// 32-bit numbers (arch/x86/entry/syscalls/syscall_32.tbl) that the VM would have to
/// follow: exit, fork, execve, signal calls, mmap, munmap, clone, mprotect, mremap,
/// vfork, exit_group, execveat, clone3 and their kin.
const FOLLOWED: &[u32] = &[
    1, 2, 11, 48, 67, 72, 73, 90, 91, 117, 119, 120, 125, 126, 163, 173, 174, 175, 176, 177, 178,
    179, 186, 190, 192, 252, 257, 354, 358, 380, 386, 397, 435,
];

/// Whether the call in eax can run natively.
#[must_use]
pub fn harmless(thread: &Thread) -> bool {
    !FOLLOWED.contains(&(thread.get(reg::RAX) as u32))
}
