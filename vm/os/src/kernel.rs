//! The `syscall` instruction.

/// Executes system call `nr` without asking the app's filters: for calls that are the app's own,
/// and for calls that must be made even if a filter kills the process for them. Returns the
/// kernel's raw value.
///
/// # Safety
/// As the system call itself: pointers must be valid for what the kernel does.
pub unsafe fn app_call(nr: u32, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the caller answers for the call; the clobbers are those of `syscall`.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") nr as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}
