//! Which calls enter the VM: the gate (`glue::syscall`) looks here by number.

use super::around::RANGES;
use super::filled::FILLING;
use crate::listing::map_files::{FOLDERS, LOOKUPS};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use ppin_os::c;

/// One byte per number: 0 if the gate makes the call, [`VM`] if the VM handles it.
pub static SLOW: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];
/// The VM handles it.
const VM: u8 = 1;
/// The app has opened its own memory.
static WRITES: AtomicBool = AtomicBool::new(false);
/// It has made processes that share its memory.
static KILLS: AtomicBool = AtomicBool::new(false);
/// It has opened a list of its mappings.
static READS: AtomicBool = AtomicBool::new(false);
/// It has opened the folder of its mapped files.
static SEES: AtomicBool = AtomicBool::new(false);
/// Code that the app may write to is guarded.
static FILLS: AtomicBool = AtomicBool::new(false);
/// The gate lets none pass until [`some`].
static EVERY: AtomicBool = AtomicBool::new(false);
/// Some thread wants to see all of its calls; from then on the gate lets none pass.
static ALL: AtomicBool = AtomicBool::new(false);
/// More numbers than there are system calls: others fail whoever looks.
const NUMBERS: usize = 512;

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

/// Lists the calls that the VM must know of.
pub fn fill() {
    let families = [
        MEMORY, RANGES, SIGNALS, SUSPENDING, PROCESS, EXEC, OPENING, OTHER,
    ];
    for nr in families.into_iter().flatten() {
        watch(*nr);
    }
    watch(c::__NR_rt_sigtimedwait);
    watch(c::__NR_ptrace);
    watch(c::__NR_process_vm_writev);
    if watches_writes() {
        watch_writes();
    }
    if READS.load(Ordering::Relaxed) {
        watch_reads(true);
    }
    if KILLS.load(Ordering::Relaxed) {
        watch_kills();
    }
    if SEES.load(Ordering::Relaxed) {
        watch_folders();
    }
    if watches_fills() {
        list(FILLING);
    }
}

/// Lists all calls of [`READING`] and those that ask, or does not any more.
pub fn watch_reads(yes: bool) {
    READS.store(yes, Ordering::Relaxed);
    let all = EVERY.load(Ordering::Relaxed) || ALL.load(Ordering::Relaxed);
    for nr in READING {
        let slow = if yes || all || watches_fills() { VM } else { 0 };
        SLOW[*nr as usize].store(slow, Ordering::Relaxed);
    }
    let asks = if yes || all { VM } else { 0 };
    SLOW[c::__NR_ioctl as usize].store(asks, Ordering::Relaxed);
}

/// Lists all calls that read folders and follow paths, for good.
pub fn watch_folders() {
    SEES.store(true, Ordering::Relaxed);
    list(FOLDERS);
    list(LOOKUPS);
}

/// Lists all calls of [`KILLING`], for good.
pub fn watch_kills() {
    KILLS.store(true, Ordering::Relaxed);
    list(KILLING);
}

/// Lists all calls of [`WRITING`], for good.
pub fn watch_writes() {
    WRITES.store(true, Ordering::Relaxed);
    list(WRITING);
}

/// Lists all calls of [`FILLING`], for good.
pub fn watch_fills() {
    if FILLS.swap(true, Ordering::Relaxed) {
        return;
    }
    list(FILLING);
}

/// Whether [`watch_fills`] has been called.
pub fn watches_fills() -> bool {
    FILLS.load(Ordering::Relaxed)
}

/// Whether [`watch_writes`] has been called.
pub fn watches_writes() -> bool {
    WRITES.load(Ordering::Relaxed)
}

fn list(numbers: &[u32]) {
    for nr in numbers {
        watch(*nr);
    }
}

/// Lists one more.
pub fn watch(nr: u32) {
    SLOW[nr as usize].store(VM, Ordering::Relaxed);
}

/// Lists all numbers, until [`some`].
pub fn every() {
    EVERY.store(true, Ordering::Relaxed);
    set(&SLOW[..NUMBERS], VM);
}

/// Lists all numbers for good.
pub fn every_for_good() {
    ALL.store(true, Ordering::Relaxed);
    set(&SLOW, VM);
}

/// Back to those that the VM must know of.
pub fn some() {
    EVERY.store(false, Ordering::Relaxed);
    if !ALL.load(Ordering::Relaxed) {
        set(&SLOW[..NUMBERS], 0);
        fill();
    }
}

fn set(numbers: &[AtomicU8], slow: u8) {
    for byte in numbers {
        byte.store(slow, Ordering::Relaxed);
    }
}
