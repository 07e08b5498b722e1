//! Signal calls.

use crate::c;
use crate::call::{call, raw};
use crate::errno::Result;
use crate::plain::Plain;
use crate::proc::{pid, tid};
use crate::siginfo::SigInfo;

/// Kernel signal set: bit n-1 is signal n.
pub type SigSet = u64;

/// The kernel's `struct sigaction`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct KernelSigaction {
    /// `SIG_DFL` (0), `SIG_IGN` (1) or the handler's address.
    pub handler: u64,
    /// `SA_*`.
    pub flags: u64,
    /// Address of the restorer.
    pub restorer: u64,
    /// Signals blocked while it runs.
    pub mask: SigSet,
}

impl KernelSigaction {
    /// The default one of each signal.
    pub const DEFAULT: Self = Self {
        handler: 0,
        flags: 0,
        restorer: 0,
        mask: 0,
    };
}

/// Sets (if `new`) and gets the disposition of `signal`.
///
/// # Safety
/// The handler must be code that can run as a signal handler.
///
/// # Errors
/// The kernel's.
pub unsafe fn sigaction(signal: u32, new: Option<&KernelSigaction>) -> Result<KernelSigaction> {
    let mut old = KernelSigaction::default();
    let new = new.map_or(0, |n| core::ptr::from_ref(n) as usize);
    // SAFETY: both structures have the kernel's layout; the handler is the caller's promise.
    unsafe {
        call(
            c::__NR_rt_sigaction,
            [signal as usize, new, &raw mut old as usize, 8, 0, 0],
        )
    }?;
    Ok(old)
}

/// Replaces the thread's signal mask and returns the old one.
pub fn set_mask(mask: SigSet) -> SigSet {
    change_mask(c::SIG_SETMASK, mask)
}

/// Adds `signals` to the thread's mask and returns the old one.
pub fn block(signals: SigSet) -> SigSet {
    change_mask(c::SIG_BLOCK, signals)
}

/// Takes `signals` out of the thread's mask.
pub fn unblock(signals: SigSet) {
    change_mask(c::SIG_UNBLOCK, signals);
}

fn change_mask(how: u32, signals: SigSet) -> SigSet {
    let mut old: SigSet = 0;
    let (new, before) = (&raw const signals as usize, &raw mut old as usize);
    // SAFETY: both sets are valid.
    unsafe { raw(c::__NR_rt_sigprocmask, [how as usize, new, before, 8, 0, 0]) };
    old
}

/// The thread's signal mask.
#[must_use]
pub fn mask() -> SigSet {
    let mut old: SigSet = 0;
    // SAFETY: no new set is given.
    unsafe {
        raw(
            c::__NR_rt_sigprocmask,
            [0, 0, &raw mut old as usize, 8, 0, 0],
        )
    };
    old
}

/// Signals that are blocked and wait for this thread or its process.
#[must_use]
pub fn pending() -> SigSet {
    let mut set: SigSet = 0;
    // SAFETY: the set is ours.
    unsafe {
        raw(
            c::__NR_rt_sigpending,
            [&raw mut set as usize, 8, 0, 0, 0, 0],
        )
    };
    set
}

/// Removes one pending signal of `set` from the queue; the signals of `set` are blocked.
pub fn take_pending(set: SigSet) {
    let at_once = [0u64; 2];
    let args = [
        &raw const set as usize,
        0,
        at_once.as_ptr() as usize,
        8,
        0,
        0,
    ];
    // SAFETY: the set and a timespec are the caller's; no siginfo is asked for.
    unsafe { raw(c::__NR_rt_sigtimedwait, args) };
}

/// Sends `signal` to this thread.
pub fn raise(signal: u32) {
    raise_in(tid(), signal);
}

/// Sends `signal` to a thread of this process.
pub fn raise_in(thread: i32, signal: u32) {
    // SAFETY: no pointers.
    unsafe {
        raw(
            c::__NR_tgkill,
            [pid() as usize, thread as usize, signal as usize, 0, 0, 0],
        )
    };
}

/// Sends the signal that `info` describes to this thread.
pub fn queue_to_self(info: &SigInfo) {
    queue_to_thread(tid(), info);
}

/// Sends the signal that `info` describes to a thread of this process; the kernel accepts some
/// kinds only from the thread itself.
pub fn queue_to_thread(thread: i32, info: &SigInfo) {
    let args = [
        pid() as usize,
        thread as usize,
        info.signo as usize,
        core::ptr::from_ref(info) as usize,
        0,
        0,
    ];
    // SAFETY: a valid siginfo; within a process the kernel accepts any code.
    unsafe { raw(c::__NR_rt_tgsigqueueinfo, args) };
}

/// Sends the signal that `info` describes to this process.
pub fn queue_to_process(info: &SigInfo) {
    let args = [
        pid() as usize,
        info.signo as usize,
        core::ptr::from_ref(info) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: a valid siginfo; within a process the kernel accepts any code.
    unsafe { raw(c::__NR_rt_sigqueueinfo, args) };
}

// SAFETY: four integers.
unsafe impl Plain for KernelSigaction {}
