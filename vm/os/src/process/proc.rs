//! Process and thread calls.

use crate::c;
use crate::call::{call, raw};
use crate::errno::Errno;
use crate::kernel::Permit;
use core::sync::atomic::{AtomicI32, Ordering};

/// Flag of personality(2): memory that the app maps readable is executable, too.
pub const READ_IMPLIES_EXEC: u32 = 0x0040_0000;

/// The bits of personality(2); `None` if a filter forbids to ask.
#[must_use]
pub fn persona() -> Option<u32> {
    const QUERY: usize = 0xffff_ffff;
    // SAFETY: only asks.
    unsafe { call(c::__NR_personality, [QUERY, 0, 0, 0, 0, 0]) }
        .ok()
        .map(|bits| bits as u32)
}

/// Process id when this process began.
static PID: AtomicI32 = AtomicI32::new(0);

/// Remembers the process id, since a new process begins.
pub fn remember_pid() {
    PID.store(pid(), Ordering::Relaxed);
}

/// Whether this is the remembered process, and not one that borrows its memory (a vfork child).
#[must_use]
pub fn is_remembered() -> bool {
    pid() == PID.load(Ordering::Relaxed)
}

/// Process id; the remembered one if a filter forbids to ask the kernel.
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

/// The real user id.
#[must_use]
pub fn user() -> u32 {
    // SAFETY: no arguments.
    unsafe { raw(c::__NR_getuid, [0; 6]) as u32 }
}

/// Ends the process silently, even if a filter forbids the call (the kernel then kills the
/// process).
pub fn exit_group(status: i32) -> ! {
    let args = [status as usize, 0, 0, 0, 0, 0];
    loop {
        // SAFETY: does not return.
        unsafe { Permit::despite_filters(c::__NR_exit_group, args).execute() };
        // SAFETY: does not return either; a filter may allow only this call.
        unsafe { Permit::despite_filters(c::__NR_exit, args).execute() };
    }
}

/// A soft limit (getrlimit(2)); 0 if it is unknown.
#[must_use]
pub fn limit(resource: u32) -> u64 {
    limits(resource)[0]
}

/// The soft and the hard limit (getrlimit(2)); zeros if they are unknown.
#[must_use]
pub fn limits(resource: u32) -> [u64; 2] {
    let mut limit = [0u64; 2];
    let args = [resource as usize, limit.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: a `struct rlimit` of ours.
    unsafe { raw(c::__NR_getrlimit, args) };
    limit
}

/// State of process or thread `pid`, as a letter (proc_pid_stat(5)); `None`: it is gone. Uses no
/// heap.
#[must_use]
pub fn state(pid: i32) -> Option<u8> {
    let mut text = [0; 64];
    let text = read(format_args!("/proc/{pid}/stat\0"), &mut text)?;
    // The state follows the name, which may hold any character.
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    text.get(name_end + 2).copied()
}

/// Where thread `tid` of this process goes on after the system call in which it waits
/// (proc_pid_syscall(5)); `None`: it runs, or this cannot be known. Uses no heap.
#[must_use]
pub fn waits_before(tid: i32) -> Option<u64> {
    let mut text = [0; 256];
    let text = read(format_args!("/proc/self/task/{tid}/syscall\0"), &mut text)?;
    let text = core::str::from_utf8(text).ok()?;
    let pc = text
        .trim_ascii_end()
        .rsplit(' ')
        .next()?
        .strip_prefix("0x")?;
    u64::from_str_radix(pc, 16).ok()
}

/// The beginning of the file at `path`, which ends in a zero.
fn read<'a>(path: core::fmt::Arguments<'_>, text: &'a mut [u8]) -> Option<&'a [u8]> {
    const LONGEST: &str = "/proc/self/task/4294967295/syscall\0";
    let mut bytes = [0; LONGEST.len()];
    write(&mut bytes, path).ok()?;
    let flags = c::O_RDONLY | c::O_CLOEXEC;
    let args = [bytes.as_ptr() as usize, flags as usize, 0, 0, 0, 0];
    // SAFETY: a terminated path.
    let fd = unsafe { call(c::__NR_open, args) }.ok()?;
    // SAFETY: a buffer of ours, and a descriptor of ours.
    let read = unsafe {
        let read = call(
            c::__NR_read,
            [fd, text.as_mut_ptr() as usize, text.len(), 0, 0, 0],
        );
        let _ = call(c::__NR_close, [fd, 0, 0, 0, 0, 0]);
        read
    };
    text.get(..read.ok()?)
}

/// Writes `text` to `bytes`, if there is room.
fn write(bytes: &mut [u8], text: core::fmt::Arguments<'_>) -> core::fmt::Result {
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
    core::fmt::Write::write_fmt(&mut Text(bytes, 0), text)
}

/// Effective user id.
#[must_use]
pub fn effective_user() -> u32 {
    // SAFETY: no arguments.
    (unsafe { raw(c::__NR_geteuid, [0; 6]) }) as u32
}

/// Whether process or thread `pid` exists, alive or not yet waited for.
#[must_use]
pub fn exists(pid: i32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { raw(c::__NR_kill, [pid as usize, 0, 0, 0, 0, 0]) != Errno::ESRCH.raw() }
}

/// Whether no process or thread `tid` of this pid namespace is alive; `false` where that is
/// unknown. (A zombie counts as gone; a thread that ends leaves no zombie.)
#[must_use]
pub fn is_gone(tid: i32) -> bool {
    // SAFETY: names a process by its id.
    match unsafe { call(c::__NR_pidfd_open, [tid as usize, 0, 0, 0, 0, 0]) } {
        Ok(fd) => {
            // A `struct pollfd`: the descriptor, and what is asked for.
            let mut poll = fd as u64 | u64::from(c::POLLIN) << 32;
            let at = (&raw mut poll) as usize;
            // SAFETY: one structure of ours, and no time to wait; then a descriptor of ours.
            unsafe {
                let ready = call(c::__NR_poll, [at, 1, 0, 0, 0, 0]);
                let _ = call(c::__NR_close, [fd, 0, 0, 0, 0, 0]);
                ready == Ok(1)
            }
        }
        error => error == Err(Errno::ESRCH),
    }
}
