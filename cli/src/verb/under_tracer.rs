//! `ppin run` under strace or a debugger.
//!
//! A process has one tracer, and ppin must be that of the program for a moment. So
//! where another process traces us already, the program runs as our child, which is cloned so
//! that a tracer who follows children does not get it, and we are to our caller what it
//! is: signals that are sent to us go to it, we stop when it stops, and end as it ends.
//! Signals of the terminal reach it by themselves, since it stays in our process group.
#![allow(unsafe_code)]

use crate::failure::Failure;
use nix::errno::Errno;
use nix::libc::{CLONE_UNTRACED, SIGCHLD, SYS_clone, syscall};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, raise, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::process::exit;

/// Returns in a process that may become the program: a child of this one, which does
/// not return, if `tracer` traces it.
pub fn go(tracer: &str) -> Result<(), Failure> {
    let mut before = SigSet::empty();
    let all = SigSet::all();
    let failed = |what: &str| Failure::of_ppin(format!("{what}, as it must under {tracer}"));
    let signals = SignalFd::with_flags(&all, SfdFlags::SFD_CLOEXEC);
    let signals = signals.map_err(|_| failed("cannot wait for signals"))?;
    let masked = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&all), Some(&mut before));
    masked.map_err(|_| failed("cannot block signals"))?;
    eprintln!(
        "ppin: traced by {tracer}: the program runs as a child of process {}",
        Pid::this()
    );
    match fork_untraced() {
        Ok(Some(child)) => stand_in(child, &signals),
        Ok(None) => {
            drop(signals);
            // A debugger that kills us means the program.
            let _ = set_pdeathsig(Signal::SIGKILL);
            let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
            still_free()
        }
        Err(_) => Err(failed("cannot create a child")),
    }
}

/// fork(2), but no tracer can have the child traced from its start (`CLONE_UNTRACED` of
/// clone(2)). The child; `None` in it.
fn fork_untraced() -> Result<Option<Pid>, Errno> {
    let flags = CLONE_UNTRACED | SIGCHLD;
    // SAFETY: as fork; there is one thread, and nothing here waits for a fork.
    let child = unsafe { syscall(SYS_clone, flags, 0, 0, 0, 0) };
    let child = Errno::result(child)? as i32;
    Ok((child != 0).then(|| Pid::from_raw(child)))
}

/// The child must not be traced as well.
fn still_free() -> Result<(), Failure> {
    tracer().map_or(Ok(()), |tracer| {
        Err(Failure::of_ppin(format!(
            "{tracer} traces the program before it has begun: ppin needs ptrace for a moment \
             (attach to it later)"
        )))
    })
}

/// Process id and name of who traces this process.
pub fn tracer() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"))?;
    let pid = line.trim();
    if pid == "0" {
        return None;
    }
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", name.trim()))
}

/// Is what `child` is, to the end. All signals are blocked.
fn stand_in(child: Pid, signals: &SignalFd) -> ! {
    loop {
        match signals.read_signal() {
            Ok(Some(info)) if info.ssi_signo == Signal::SIGCHLD as u32 => look_after(child),
            Ok(Some(info)) => pass_on(child, &info),
            _ => look_after(child),
        }
    }
}

/// Passes a signal on to the child if a process has sent it; the kernel's own reach the child
/// directly.
fn pass_on(child: Pid, info: &siginfo) {
    if info.ssi_code > 0 {
        return;
    }
    if let Ok(signal) = Signal::try_from(info.ssi_signo as i32) {
        let _ = kill(child, signal);
    }
}

fn look_after(child: Pid) {
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
    while let Ok(status) = waitpid(child, Some(flags)) {
        match status {
            WaitStatus::Exited(_, status) => exit(status),
            WaitStatus::Signaled(_, signal, _) => die(signal),
            WaitStatus::Stopped(..) => {
                let _ = raise(Signal::SIGSTOP);
                // Somebody has continued us.
                let _ = kill(child, Signal::SIGCONT);
            }
            _ => return,
        }
    }
}

/// Dies by `signal` as the child did, which has left the core already.
fn die(signal: Signal) -> ! {
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let _ = raise(signal);
    let mut only = SigSet::empty();
    only.add(signal);
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&only), None);
    exit(128 + signal as i32)
}
