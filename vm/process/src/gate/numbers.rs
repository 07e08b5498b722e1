//! Numbers of system calls, by family.
#![allow(missing_docs, reason = "the names are those of the families")]

use ppin_os::c;

pub const MEMORY: &[u32] = &[
    c::__NR_mmap,
    c::__NR_munmap,
    c::__NR_mprotect,
    c::__NR_pkey_mprotect,
    c::__NR_mremap,
    c::__NR_madvise,
    c::__NR_shmat,
    c::__NR_shmdt,
    c::__NR_mseal,
    c::__NR_brk,
    c::__NR_remap_file_pages,
    c::__NR_process_madvise,
];
pub const SIGNALS: &[u32] = &[
    c::__NR_rt_sigaction,
    c::__NR_rt_sigprocmask,
    c::__NR_rt_sigreturn,
    c::__NR_sigaltstack,
    c::__NR_rt_sigpending,
];
pub const SUSPENDING: &[u32] = &[
    c::__NR_rt_sigsuspend,
    c::__NR_ppoll,
    c::__NR_pselect6,
    c::__NR_epoll_pwait,
    c::__NR_epoll_pwait2,
    c::__NR_restart_syscall,
];
pub const PROCESS: &[u32] = &[
    c::__NR_clone,
    c::__NR_clone3,
    c::__NR_fork,
    c::__NR_vfork,
    c::__NR_exit,
    c::__NR_exit_group,
];
pub const EXEC: &[u32] = &[c::__NR_execve, c::__NR_execveat];
pub const OTHER: &[u32] = &[
    c::__NR_arch_prctl,
    c::__NR_rseq,
    c::__NR_seccomp,
    c::__NR_prctl,
    c::__NR_personality,
    c::__NR_chroot,
    c::__NR_setuid,
    c::__NR_setresuid,
    c::__NR_setreuid,
    c::__NR_landlock_restrict_self,
    c::__NR_unshare,
    c::__NR_setns,
    c::__NR_getrlimit,
    c::__NR_setrlimit,
    c::__NR_prlimit64,
    c::__NR_mlockall,
    c::__NR_munlockall,
    c::__NR_userfaultfd,
];

/// Calls by which files are opened.
pub const OPENING: &[u32] = &[c::__NR_open, c::__NR_openat, c::__NR_openat2, c::__NR_creat];
/// Calls that write to a descriptor, the first argument.
pub const WRITING: &[u32] = &[
    c::__NR_write,
    c::__NR_writev,
    c::__NR_pwrite64,
    c::__NR_pwritev,
    c::__NR_pwritev2,
];
/// Calls that read from a descriptor.
pub const READING: &[u32] = &[
    c::__NR_read,
    c::__NR_readv,
    c::__NR_pread64,
    c::__NR_preadv,
    c::__NR_preadv2,
];
/// Calls that send signals.
pub const KILLING: &[u32] = &[
    c::__NR_kill,
    c::__NR_tkill,
    c::__NR_tgkill,
    c::__NR_rt_sigqueueinfo,
    c::__NR_rt_tgsigqueueinfo,
    c::__NR_pidfd_send_signal,
];

/// Calls that read a folder.
pub const FOLDERS: &[u32] = &[c::__NR_getdents, c::__NR_getdents64];
/// Calls that follow a path, but those that open: the path is the first argument, or the
/// second behind a descriptor.
pub const LOOKUPS: &[u32] = &[
    c::__NR_stat,
    c::__NR_lstat,
    c::__NR_access,
    c::__NR_readlink,
    c::__NR_newfstatat,
    c::__NR_statx,
    c::__NR_faccessat,
    c::__NR_faccessat2,
    c::__NR_readlinkat,
];

/// Calls on ranges of memory that do not affect code. The VM handles them to hide its own memory
/// from them.
pub const RANGES: &[u32] = &[
    c::__NR_mlock,
    c::__NR_mlock2,
    c::__NR_munlock,
    c::__NR_msync,
    c::__NR_mincore,
    c::__NR_mbind,
];

/// Calls by which the kernel writes data to app memory that it cannot deliver again.
pub const FILLING: &[u32] = &[
    c::__NR_read,
    c::__NR_readv,
    c::__NR_pread64,
    c::__NR_preadv,
    c::__NR_preadv2,
    c::__NR_recvfrom,
    c::__NR_recvmsg,
    c::__NR_recvmmsg,
    c::__NR_accept,
    c::__NR_accept4,
    c::__NR_wait4,
    c::__NR_waitid,
    c::__NR_msgrcv,
    c::__NR_mq_timedreceive,
    c::__NR_io_getevents,
    c::__NR_getrandom,
    c::__NR_process_vm_readv,
    c::__NR_vmsplice,
];

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn no_call_belongs_to_two_families_that_handle_it() {
        let families = [
            MEMORY, RANGES, SIGNALS, SUSPENDING, PROCESS, EXEC, OPENING, OTHER, KILLING, FOLDERS,
            WRITING,
        ];
        let mut all: Vec<u32> = families.concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn reading_fills_memory() {
        assert!(READING.iter().all(|nr| FILLING.contains(nr)));
    }
}
