//! Process and thread calls.

use super::{Errno, Result, c, call, come_what_may, raw};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Kernel signal set: bit n-1 is signal n.
pub type SigSet = u64;

/// Of personality(2): what the app maps readable is executable.
pub const READ_IMPLIES_EXEC: u32 = 0x0040_0000;

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
    let mut old: SigSet = 0;
    // SAFETY: both sets are ours; SIG_SETMASK is 2.
    unsafe {
        raw(
            c::__NR_rt_sigprocmask,
            [2, &raw const mask as usize, &raw mut old as usize, 8, 0, 0],
        )
    };
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

/// Takes one signal of `set`, which are blocked, away from those that wait.
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
    // SAFETY: the set and a timespec of ours; nothing is told of the signal.
    unsafe { raw(c::__NR_rt_sigtimedwait, args) };
}

/// What [`pid`] was when this process began.
static PID: AtomicI32 = AtomicI32::new(0);

/// A new process begins.
pub fn remember_pid() {
    PID.store(pid(), Ordering::Relaxed);
}

/// Whether this is the process that was remembered, and not one that borrows its memory.
#[must_use]
pub fn is_remembered() -> bool {
    pid() == PID.load(Ordering::Relaxed)
}

/// Process id; where the kernel may not be asked, as remembered.
#[must_use]
pub fn pid() -> i32 {
    // SAFETY: no arguments.
    let asked = unsafe { raw(c::__NR_getpid, [0; 6]) as i32 };
    if asked > 0 {
        asked
    } else {
        PID.load(Ordering::Relaxed)
    }
}

/// Thread id.
#[must_use]
pub fn tid() -> i32 {
    // SAFETY: no arguments.
    unsafe { raw(c::__NR_gettid, [0; 6]) as i32 }
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

/// Sends a signal with this information to this thread.
pub fn queue_to_self(info: &crate::signal::frame::SigInfo) {
    queue_to_thread(tid(), info);
}

/// Sends a signal with this information to a thread of this process; the kernel takes
/// some only from the thread itself.
pub fn queue_to_thread(thread: i32, info: &crate::signal::frame::SigInfo) {
    let args = [
        pid() as usize,
        thread as usize,
        info.signo as usize,
        core::ptr::from_ref(info) as usize,
        0,
        0,
    ];
    // SAFETY: a siginfo of our own; within a process any code is allowed.
    unsafe { raw(c::__NR_rt_tgsigqueueinfo, args) };
}

/// Sends a signal with this information to this process.
pub fn queue_to_process(info: &crate::signal::frame::SigInfo) {
    let args = [
        pid() as usize,
        info.signo as usize,
        core::ptr::from_ref(info) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: as above.
    unsafe { raw(c::__NR_rt_sigqueueinfo, args) };
}

/// Ends the process without a trace of ours. If a filter forbids even that, so be it.
pub fn exit_group(status: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { come_what_may(c::__NR_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
        // SAFETY: neither does this, if it was the only one allowed.
        unsafe { come_what_may(c::__NR_exit, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

static SEGMENT_BASES: AtomicBool = AtomicBool::new(false);

/// The instructions for segment bases may be used. They are not only quicker: a filter
/// of system calls may know no arch_prctl.
pub fn use_segment_bases() {
    SEGMENT_BASES.store(true, Ordering::Relaxed);
}

/// A soft limit (getrlimit(2)); nothing is known: 0.
#[must_use]
pub fn limit(resource: u32) -> u64 {
    limits(resource)[0]
}

/// The soft and the hard limit.
#[must_use]
pub fn limits(resource: u32) -> [u64; 2] {
    let mut limit = [0u64; 2];
    let args = [resource as usize, limit.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: a `struct rlimit` of ours.
    unsafe { raw(c::__NR_getrlimit, args) };
    limit
}

/// Sets the base of gs; its selector becomes 0.
pub fn set_gs_base(base: u64) {
    if SEGMENT_BASES.load(Ordering::Relaxed) {
        set_gs_selector(0);
        return write_gs_base(base);
    }
    // SAFETY: gs belongs to the runtime; ARCH_SET_GS is 0x1001.
    unsafe { raw(c::__NR_arch_prctl, [0x1001, base as usize, 0, 0, 0, 0]) };
}

/// The base of gs, if there is an instruction for it.
#[must_use]
pub fn quick_gs_base() -> Option<u64> {
    SEGMENT_BASES.load(Ordering::Relaxed).then(|| {
        let base: u64;
        // SAFETY: only reads a register.
        unsafe {
            core::arch::asm!("rdgsbase {}", out(reg) base, options(nomem, nostack, preserves_flags))
        };
        base
    })
}

/// The base of the app's fs.
#[must_use]
pub fn fs_base() -> u64 {
    const ARCH_GET_FS: usize = 0x1003;
    if SEGMENT_BASES.load(Ordering::Relaxed) {
        let base;
        // SAFETY: only reads a register.
        unsafe {
            core::arch::asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags))
        };
        return base;
    }
    ask_base(ARCH_GET_FS)
}

/// What the kernel knows (arch_prctl(2)).
fn ask_base(which: usize) -> u64 {
    let mut base = 0u64;
    // SAFETY: the two calls by which we come here store one word.
    unsafe {
        raw(
            c::__NR_arch_prctl,
            [which, &raw mut base as usize, 0, 0, 0, 0],
        )
    };
    base
}

/// The base of gs.
#[must_use]
pub fn gs_base() -> u64 {
    const ARCH_GET_GS: usize = 0x1004;
    quick_gs_base().unwrap_or_else(|| ask_base(ARCH_GET_GS))
}

/// Sets the base of gs and leaves its selector alone; for CPUs that have the
/// instruction.
pub fn write_gs_base(base: u64) {
    // SAFETY: gs belongs to the runtime.
    unsafe { core::arch::asm!("wrgsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// The selector in gs.
#[must_use]
pub fn gs_selector() -> u16 {
    let selector: u32;
    // SAFETY: only reads a register.
    unsafe {
        core::arch::asm!("mov {:e}, gs", out(reg) selector, options(nomem, nostack, preserves_flags))
    };
    selector as u16
}

/// Loads gs with `selector`, which must be [`loadable`]. Its base changes.
pub fn set_gs_selector(selector: u16) {
    // SAFETY: gs belongs to the runtime.
    unsafe {
        core::arch::asm!("mov gs, {:e}", in(reg) u32::from(selector), options(nostack, preserves_flags))
    };
}

/// Whether a segment register can be loaded with `selector`.
#[must_use]
pub fn loadable(selector: u16) -> bool {
    let readable: u8;
    // SAFETY: only looks.
    unsafe {
        core::arch::asm!("verr {:x}", "setz {}", in(reg) selector, out(reg_byte) readable, options(nomem, nostack));
    }
    readable != 0
}

/// Access rights of the segment `selector`, as `lar` tells them; 0 if there is none.
#[must_use]
pub fn access_rights(selector: u16) -> u32 {
    let mut rights = 0u32;
    // SAFETY: only looks; where there is no such segment, the register stays as it is.
    unsafe {
        core::arch::asm!("lar {0:e}, {1:e}", inout(reg) rights, in(reg) u32::from(selector), options(nomem, nostack));
    }
    rights
}

/// What process or thread `pid` does, as a letter (proc_pid_stat(5)); `None`: it is gone.
/// Uses no heap.
#[must_use]
pub fn state(pid: i32) -> Option<u8> {
    const LONGEST: usize = 64;
    let mut path = [0; "/proc/4294967295/stat\0".len()];
    write_path(&mut path, pid).ok()?;
    let flags = c::O_RDONLY | c::O_CLOEXEC;
    let args = [path.as_ptr() as usize, flags as usize, 0, 0, 0, 0];
    // SAFETY: a terminated path.
    let fd = unsafe { call(c::__NR_open, args) }.ok()?;
    let mut text = [0; LONGEST];
    // SAFETY: a buffer of ours, and a descriptor of ours.
    let read = unsafe {
        let read = call(
            c::__NR_read,
            [fd, text.as_mut_ptr() as usize, LONGEST, 0, 0, 0],
        );
        let _ = call(c::__NR_close, [fd, 0, 0, 0, 0, 0]);
        read
    };
    let text = &text[..read.unwrap_or(0)];
    // Behind the name, which may hold anything.
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    text.get(name_end + 2).copied()
}

/// `/proc/PID/stat`, terminated.
fn write_path(path: &mut [u8], pid: i32) -> core::fmt::Result {
    struct Text<'a>(&'a mut [u8], usize);
    impl core::fmt::Write for Text<'_> {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            let room = self.0.get_mut(self.1..self.1 + text.len());
            room.ok_or(core::fmt::Error)?
                .copy_from_slice(text.as_bytes());
            self.1 += text.len();
            Ok(())
        }
    }
    core::fmt::Write::write_fmt(&mut Text(path, 0), format_args!("/proc/{pid}/stat\0"))
}

/// Effective user id.
#[must_use]
pub fn effective_user() -> u32 {
    // SAFETY: no arguments.
    (unsafe { raw(c::__NR_geteuid, [0; 6]) }) as u32
}

/// Whether there is a process or thread `pid`, alive or not yet waited for.
#[must_use]
pub fn exists(pid: i32) -> bool {
    const ESRCH: isize = -3;
    // SAFETY: signal 0 only asks.
    unsafe { raw(c::__NR_kill, [pid as usize, 0, 0, 0, 0, 0]) != ESRCH }
}

/// Whether no process or thread `tid` of our pid namespace is alive; `false` where that
/// cannot be told. (A zombie is not, and a thread that ends leaves none.)
#[must_use]
pub fn is_gone(tid: i32) -> bool {
    const ESRCH: Errno = Errno(3);
    const POLLIN: u64 = 1;
    // SAFETY: names a process by its id.
    match unsafe { call(c::__NR_pidfd_open, [tid as usize, 0, 0, 0, 0, 0]) } {
        Ok(fd) => {
            // A `struct pollfd`: the descriptor, and what is asked for.
            let mut poll = fd as u64 | POLLIN << 32;
            let at = (&raw mut poll) as usize;
            // SAFETY: one structure of ours, and no time to wait; then a descriptor of ours.
            unsafe {
                let ready = call(c::__NR_poll, [at, 1, 0, 0, 0, 0]);
                let _ = call(c::__NR_close, [fd, 0, 0, 0, 0, 0]);
                ready == Ok(1)
            }
        }
        error => error == Err(ESRCH),
    }
}

/// Makes a futex call on a word of this process; whether it was a wait that took too long.
/// A waiter may return at once; where nobody could wake it, it does.
pub fn futex(word: &core::sync::atomic::AtomicU32, operation: u32, value: u32) -> bool {
    const ETIMEDOUT: isize = -110;
    if operation == c::FUTEX_WAIT && crate::confine::own::nobody_wakes() {
        core::hint::spin_loop();
        return false;
    }
    // Who is killed when it has been woken wakes nobody else: so all look now and then.
    let a_moment: [u64; 2] = [0, 50_000_000];
    let timeout = if operation == c::FUTEX_WAIT {
        a_moment.as_ptr() as usize
    } else {
        0
    };
    let operation = (operation | c::FUTEX_PRIVATE_FLAG) as usize;
    let args = [
        word.as_ptr() as usize,
        operation,
        value as usize,
        timeout,
        0,
        0,
    ];
    // SAFETY: the word outlives the call.
    unsafe { raw(c::__NR_futex, args) == ETIMEDOUT }
}

/// Sleeps while `*word == value`; `true`: too long.
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, value: u32) -> bool {
    futex(word, c::FUTEX_WAIT, value)
}

/// Wakes one sleeper.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32) {
    futex(word, c::FUTEX_WAKE, 1);
}

/// Wakes all sleepers, as long as that is possible.
pub fn futex_wake_all(word: &core::sync::atomic::AtomicU32) {
    let operation = (c::FUTEX_WAKE | c::FUTEX_PRIVATE_FLAG) as usize;
    let args = [
        word.as_ptr() as usize,
        operation,
        i32::MAX as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the word is only named.
    unsafe { come_what_may(c::__NR_futex, args) };
}
