//! Constants and structures of the kernel, by their names there.

pub use linux_raw_sys::general::*;
pub use linux_raw_sys::prctl::{
    PR_GET_DUMPABLE, PR_SET_MDWE, PR_SET_MM, PR_SET_PDEATHSIG, PR_SET_PTRACER, PR_SET_SECCOMP,
    PR_SET_SYSCALL_USER_DISPATCH, PR_SET_TSC, PR_SYS_DISPATCH_EXCLUSIVE_ON, PR_SYS_DISPATCH_OFF,
    PR_TSC_ENABLE,
};
pub use linux_raw_sys::ptrace::{
    AUDIT_ARCH_X86_64, PTRACE_ATTACH, PTRACE_INTERRUPT, PTRACE_SEIZE, PTRACE_TRACEME,
};

/// Sets the base of gs (arch_prctl(2)).
pub const ARCH_SET_GS: usize = 0x1001;
/// Has `cpuid` fault, or no longer (arch_prctl(2)).
pub const ARCH_SET_CPUID: usize = 0x1012;
/// Sets the base of fs (arch_prctl(2)).
pub const ARCH_SET_FS: usize = 0x1002;
/// Reads the base of fs (arch_prctl(2)).
pub const ARCH_GET_FS: usize = 0x1003;
/// Reads the base of gs (arch_prctl(2)).
pub const ARCH_GET_GS: usize = 0x1004;
