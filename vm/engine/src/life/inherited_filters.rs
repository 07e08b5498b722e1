//! Whether a program that inherits the app's filters can run under ppin.
//!
//! The runtime starts afresh in that program and does not know the filters. So the program can be
//! followed only if the filters allow every call that the runtime may make. Filters that forbid a
//! few dangerous calls, such as those of containers, allow them all.

use ppin_os::filter::{self, may};
use ppin_os::{c, mem};
use ppin_seccomp::Confinement;

/// Whether all threads' filters allow the runtime's calls.
#[must_use]
pub(super) fn possible() -> bool {
    filter::all().is_none_or(lets_in)
}

fn lets_in(all: &Confinement) -> bool {
    let plain = PLAIN.iter().all(|nr| may(all, *nr, &[0; 6]));
    plain && PARTICULAR.iter().all(|(nr, args)| may(all, *nr, args))
}

/// Calls that filters allow or forbid whatever their arguments are.
#[rustfmt::skip]
const PLAIN: &[u32] = &[
    c::__NR_openat, c::__NR_read, c::__NR_write, c::__NR_close, c::__NR_fstat, c::__NR_lseek,
    c::__NR_pread64, c::__NR_writev, c::__NR_pwrite64, c::__NR_readlink, c::__NR_getdents64,
    c::__NR_mkdir, c::__NR_renameat, c::__NR_unlinkat, c::__NR_utimensat, c::__NR_fgetxattr,
    c::__NR_newfstatat, c::__NR_linkat, c::__NR_flock, c::__NR_ftruncate,
    c::__NR_faccessat2, c::__NR_getcwd, c::__NR_munmap, c::__NR_mremap, c::__NR_madvise,
    c::__NR_futex, c::__NR_rt_sigaction, c::__NR_rt_sigprocmask, c::__NR_rt_sigreturn,
    c::__NR_sigaltstack, c::__NR_rt_tgsigqueueinfo, c::__NR_tgkill, c::__NR_kill,
    c::__NR_getpid, c::__NR_gettid, c::__NR_geteuid, c::__NR_wait4, c::__NR_nanosleep,
    c::__NR_getrlimit, c::__NR_clock_gettime, c::__NR_execve, c::__NR_exit, c::__NR_exit_group,
    c::__NR_process_vm_writev, c::__NR_arch_prctl, c::__NR_getppid, c::__NR_rt_sigtimedwait,
    c::__NR_getrandom, c::__NR_rt_sigpending, c::__NR_process_vm_readv, c::__NR_waitid,
    c::__NR_setpgid,
];

const fn args(values: [usize; 3]) -> [usize; 6] {
    [values[0], values[1], values[2], 0, 0, 0]
}

const fn map(protection: u32, flags: u32) -> [usize; 6] {
    [0, 4096, protection as usize, flags as usize, usize::MAX, 0]
}

const PRIVATE: u32 = c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE;
const EXACT: u32 = c::MAP_FIXED_NOREPLACE;

/// Calls that some filters allow with certain arguments only.
#[rustfmt::skip]
const PARTICULAR: &[(u32, [usize; 6])] = &[
    (c::__NR_mmap, map(mem::RW, PRIVATE)),
    (c::__NR_mmap, map(mem::RWX, PRIVATE)),
    (c::__NR_mmap, map(mem::RW, PRIVATE | EXACT)),
    (c::__NR_mmap, map(mem::RX, c::MAP_SHARED | c::MAP_ANONYMOUS | EXACT)),
    (c::__NR_mmap, map(mem::RX, c::MAP_PRIVATE | c::MAP_FIXED)),
    (c::__NR_mmap, map(mem::R, c::MAP_PRIVATE | EXACT)),
    (c::__NR_mprotect, args([0, 4096, mem::NONE as usize])),
    (c::__NR_mprotect, args([0, 4096, mem::RW as usize])),
    (c::__NR_mprotect, args([0, 4096, mem::RX as usize])),
    (c::__NR_mprotect, args([0, 4096, mem::RWX as usize])),
    (c::__NR_fcntl, args([0, c::F_DUPFD_CLOEXEC as usize, 56])),
    (c::__NR_fcntl, args([0, c::F_SETFD as usize, 0])),
    (c::__NR_clone, args([(c::CLONE_VM | c::CLONE_CHILD_CLEARTID) as usize, 0, 0])),
    (c::__NR_ptrace, args([c::PTRACE_SEIZE as usize, 0, 0])),
    (c::__NR_prctl, args([c::PR_SET_PTRACER as usize, 0, 0])),
    (c::__NR_personality, args([0xffff_ffff, 0, 0])),
];
