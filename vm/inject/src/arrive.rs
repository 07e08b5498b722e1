//! In the fresh process, before the app's first instruction: removes what the launch has left.
//!
//! # Safety
//!
//! The boot block is the one that H filled in for this very process, and no app
//! code has run yet.
#![allow(unsafe_code)]

use crate::cpu::Cpu;
use crate::sys::{Errno, Kernel, check, errno};
use linux_raw_sys::general::{
    __NR_getpid, __NR_gettid, __NR_madvise, __NR_mprotect, __NR_prctl, __NR_process_vm_readv,
    __NR_rt_sigpending, __NR_rt_sigtimedwait, __NR_rt_tgsigqueueinfo, __NR_wait4, __NR_waitid,
    __WALL, MADV_DONTNEED, P_ALL, PROT_EXEC, PROT_READ, PROT_WRITE, SIGCHLD, WEXITED, WNOHANG,
    WNOWAIT, iovec,
};
use linux_raw_sys::prctl::PR_SET_PTRACER;
use ppin_abi::boot::BootHeader;

const PAGE: u64 = 4096;
/// Size of the kernel's `siginfo_t`, and where it holds the sender's id.
const SIGINFO: usize = 128;
const SI_PID: usize = 16;

/// Reaps H, puts back the app's page and its declared tracer.
///
/// # Safety
/// As in the module: `boot` is this process's own, and no code of the app has run.
pub unsafe fn tidy_up(boot: &BootHeader) -> Result<(), Errno> {
    reap(boot.helper_pid);
    if boot.ptracer != 0 {
        let args = [PR_SET_PTRACER as usize, boot.ptracer as usize, 0, 0, 0, 0];
        // SAFETY: takes numbers only.
        unsafe { Cpu.call(__NR_prctl, args) };
    }
    // SAFETY: the caller's contract.
    unsafe { restore(boot) }
}

/// Waits for H's end and takes its status. H's end after the exec raises SIGCHLD
/// whatever exit signal was asked for (the kernel distrusts a choice made by the
/// former image); by default it is dropped, but an app that starts with SIGCHLD
/// blocked would find it pending.
fn reap(helper: u32) {
    if helper == 0 {
        return;
    }
    loop {
        let args = [helper as usize, 0, __WALL as usize, 0, 0, 0];
        // SAFETY: no status is asked for.
        match check(unsafe { Cpu.call(__NR_wait4, args) }) {
            Err(Errno(error)) if error == errno::EINTR as i32 => {}
            _ => break,
        }
    }
    forget_signal_of(helper);
}

fn forget_signal_of(helper: u32) {
    let set = 1u64 << (SIGCHLD - 1);
    let mut pending = 0u64;
    // SAFETY: the kernel writes one 8-byte set.
    unsafe {
        Cpu.call(
            __NR_rt_sigpending,
            [(&raw mut pending) as usize, 8, 0, 0, 0, 0],
        )
    };
    if pending & set == 0 {
        return;
    }
    let mut info = [0u64; SIGINFO / 8];
    let no_time = [0u64; 2];
    let args = [
        (&raw const set) as usize,
        info.as_mut_ptr() as usize,
        no_time.as_ptr() as usize,
        8,
        0,
        0,
    ];
    // SAFETY: the kernel reads the set and the time and writes a siginfo.
    let taken = unsafe { Cpu.call(__NR_rt_sigtimedwait, args) };
    let sender = info[SI_PID / 8] as u32;
    if taken == SIGCHLD as isize && (sender != helper || another_child_reports()) {
        requeue(&info);
    }
}

/// Whether a child inherited from the former image has ended as well: its signal
/// may have been merged with H's.
fn another_child_reports() -> bool {
    let mut info = [0u64; SIGINFO / 8];
    let options = (WEXITED | WNOHANG | WNOWAIT) as usize;
    let args = [P_ALL as usize, 0, info.as_mut_ptr() as usize, options, 0, 0];
    // SAFETY: the kernel writes a siginfo.
    let raw = unsafe { Cpu.call(__NR_waitid, args) };
    raw == 0 && info[SI_PID / 8] as u32 != 0
}

fn requeue(info: &[u64; SIGINFO / 8]) {
    // SAFETY: no arguments.
    let (process, thread) = unsafe {
        (
            Cpu.call(__NR_getpid, [0; 6]) as usize,
            Cpu.call(__NR_gettid, [0; 6]) as usize,
        )
    };
    let args = [
        process,
        thread,
        SIGCHLD as usize,
        info.as_ptr() as usize,
        0,
        0,
    ];
    // SAFETY: the kernel reads the siginfo.
    unsafe { Cpu.call(__NR_rt_tgsigqueueinfo, args) };
}

/// Gives the app's page its bytes back.
///
/// A page of a read-only segment is dropped, so that the file's own page is there
/// again as if nothing had happened. A writable one may differ from the file (the
/// kernel zeroes what follows the data), so it is written to. The kernel itself
/// tells which: a copy into a page that may not be written fails.
///
/// # Safety
/// As for [`tidy_up`].
unsafe fn restore(boot: &BootHeader) -> Result<(), Errno> {
    let saved = &boot.saved[..(boot.patched_len as usize).min(boot.saved.len())];
    let here = boot.patched_at as *const u8;
    // SAFETY: the copy writes only what the bootstrap had overwritten.
    if saved.is_empty() || unsafe { write_back(here, saved) } {
        return Ok(());
    }
    let args = [
        boot.patched_at as usize,
        PAGE as usize,
        MADV_DONTNEED as usize,
        0,
        0,
        0,
    ];
    // SAFETY: a private page of the file, whose only change was the bootstrap.
    unsafe { Cpu.call(__NR_madvise, args) };
    // SAFETY: the page is mapped and readable: it is code that is about to run.
    if unsafe { core::slice::from_raw_parts(here, saved.len()) } == saved {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { write_forcibly(here, saved) }
}

/// Whether the copy worked.
///
/// # Safety
/// `here` is where `saved` was taken from.
unsafe fn write_back(here: *const u8, saved: &[u8]) -> bool {
    let part = |base: *const u8| iovec {
        iov_base: base.cast_mut().cast(),
        iov_len: saved.len() as _,
    };
    let (to, from) = (part(here), part(saved.as_ptr()));
    // SAFETY: no arguments.
    let own = unsafe { Cpu.call(__NR_getpid, [0; 6]) } as usize;
    let args = [
        own,
        (&raw const to) as usize,
        1,
        (&raw const from) as usize,
        1,
        0,
    ];
    // SAFETY: the caller's contract.
    let raw = unsafe { Cpu.call(__NR_process_vm_readv, args) };
    raw == saved.len() as isize
}

/// # Safety
/// `here` is where `saved` was taken from.
unsafe fn write_forcibly(here: *const u8, saved: &[u8]) -> Result<(), Errno> {
    let protect = |bits: u32| {
        let args = [here as usize, PAGE as usize, bits as usize, 0, 0, 0];
        // SAFETY: the page is the app's code, which does not run yet.
        check(unsafe { Cpu.call(__NR_mprotect, args) })
    };
    protect(PROT_READ | PROT_WRITE)?;
    // SAFETY: writable now.
    unsafe { core::ptr::copy_nonoverlapping(saved.as_ptr(), here.cast_mut(), saved.len()) };
    protect(PROT_READ | PROT_EXEC).map(drop)
}
