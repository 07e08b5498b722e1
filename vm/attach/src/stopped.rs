//! The program with all its threads stopped.

use crate::status::Status;
use crate::task::Task;
use crate::{Failure, Result, because, failure, interrupted, sequence};
use nix::errno::Errno;
use nix::libc::user_regs_struct as Regs;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for a thread to stop. (It may wait in the kernel for what nobody can interrupt.)
const LONGEST: Duration = Duration::from_secs(2);

/// A stopped thread, and how it goes on natively.
#[derive(Debug)]
pub struct Held {
    pub task: Task,
    /// With an interrupted system call made again.
    pub regs: Regs,
    pub mask: u64,
    /// The interrupted call that it makes again: its number, and the kernel's error.
    pub call: [u64; 2],
    /// Its registration for restartable sequences; address 0: none.
    pub sequences: [u64; 3],
}

/// A program whose threads are all stopped and block all signals. When this is dropped they go on.
#[derive(Debug)]
pub struct Stopped {
    pub pid: Pid,
    pub threads: Vec<Held>,
}

impl Stopped {
    /// Stops all threads of process `pid`.
    pub fn all(pid: Pid) -> Result<Self> {
        let threads = Vec::new();
        let mut all = Self { pid, threads };
        // (A thread that runs may begin others.)
        while all.stop_new()? {}
        all.threads
            .sort_by_key(|held| (held.task.0 != pid, held.task.0));
        if all.threads.is_empty() {
            return failure(format!("process {pid} has ended"));
        }
        Ok(all)
    }

    /// Stops the threads that are not stopped yet; whether there were any.
    fn stop_new(&mut self) -> Result<bool> {
        let known = |tid: &Pid| self.threads.iter().any(|held| held.task.0 == *tid);
        let all = threads(self.pid)?.into_iter();
        let new: Vec<_> = all.filter(|tid| !known(tid)).map(Task).collect();
        let mut asked = Vec::new();
        let stopped = self.stop_each(&new, &mut asked);
        // (Those that were asked and are not held, if it has failed.)
        for task in asked {
            let _ = task.detach();
        }
        stopped
    }

    /// Stops each of `new`; whether any lived. `asked` are those that were asked to stop and are not held.
    fn stop_each(&mut self, new: &[Task], asked: &mut Vec<Task>) -> Result<bool> {
        for task in new {
            if ask(self.pid, *task)? {
                asked.push(*task);
            }
        }
        let any = !asked.is_empty();
        while let Some(task) = asked.last() {
            if wait_for_stop(self.pid, *task)? {
                self.threads.push(hold(self.pid, *task)?);
            }
            asked.pop();
        }
        Ok(any)
    }

    /// The thread that takes the runtime in.
    pub fn first(&self) -> &Held {
        &self.threads[0]
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for held in &self.threads {
            held.let_go();
        }
    }
}

impl Held {
    /// The thread goes on natively. (One that was killed has nothing to go on with.)
    fn let_go(&self) {
        let _ = self.task.set_registers(&self.regs);
        let _ = self.task.set_mask(self.mask);
        let _ = self.task.detach();
    }
}

/// The threads of the process.
fn threads(pid: Pid) -> Result<Vec<Pid>> {
    let list = fs::read_dir(format!("/proc/{pid}/task"));
    let list = list.map_err(|_| Failure(format!("process {pid} has ended")))?;
    let tids = list.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(tids.map(Pid::from_raw).collect())
}

fn state(pid: Pid, tid: Pid) -> Option<String> {
    let status = Status::of(pid.as_raw(), Some(tid.as_raw())).ok()?;
    Some(status.state().to_owned())
}

/// Asks a thread to stop; `false`: it has ended.
fn ask(pid: Pid, task: Task) -> Result<bool> {
    if state(pid, task.0).is_none_or(|state| state == "Z" || state == "X") {
        return Ok(false);
    }
    match task.seize() {
        Ok(()) => Ok(true),
        Err(Errno::ESRCH) => Ok(false),
        Err(error) => failure(refused(pid, error)),
    }
}

/// Waits until the thread has stopped; `false`: it has ended.
fn wait_for_stop(pid: Pid, task: Task) -> Result<bool> {
    let asked = Instant::now();
    while asked.elapsed() < LONGEST {
        let flags = WaitPidFlag::__WALL | WaitPidFlag::WNOHANG;
        match waitpid(task.0, Some(flags)) {
            Ok(WaitStatus::PtraceEvent(_, nix::sys::signal::Signal::SIGTRAP, _)) => {
                return Ok(true);
            }
            Ok(WaitStatus::PtraceEvent(..)) => {
                return failure(format!(
                    "process {pid} is stopped: let it go on first (kill -CONT {pid})"
                ));
            }
            // It was to be delivered at this moment; it goes first.
            Ok(WaitStatus::Stopped(_, signal)) => {
                let _ = task.go_on(Some(signal));
            }
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::ECHILD) => {
                return Ok(false);
            }
            _ => sleep(Duration::from_micros(200)),
        }
    }
    failure(format!(
        "thread {} of process {pid} does not stop: it waits in the kernel (for a child of vfork, or for a device)",
        task.0
    ))
}

/// Reads what a stopped thread was doing, and has it block all signals.
fn hold(pid: Pid, task: Task) -> Result<Held> {
    let lost = because("its registers cannot be read");
    let mut regs = task.registers().map_err(&lost)?;
    let mask = task.mask().map_err(&lost)?;
    let sequences = task.sequences().unwrap_or_default();
    let mut code = [0; 2];
    let _ = task.read(regs.rip.wrapping_sub(2), &mut code);
    let call = interrupted::make_again(&mut regs, code, || is_signalled(pid, task, mask));
    if let Some(handler) = aborted(task, regs.rip, sequences[0]) {
        regs.rip = handler;
    }
    task.set_mask(u64::MAX).map_err(&lost)?;
    Ok(Held {
        task,
        regs,
        mask,
        call,
        sequences,
    })
}

/// Whether a signal that the thread does not block waits for it.
fn is_signalled(pid: Pid, task: Task, mask: u64) -> bool {
    let status = Status::of(pid.as_raw(), Some(task.0.as_raw()));
    status.is_ok_and(|status| {
        let pending = ["SigPnd", "ShdPnd"].map(|name| status.number(name, 16));
        (pending[0] | pending[1]) & !mask != 0
    })
}

/// Aborts the restartable sequence that the thread is in, if any: where it goes on.
fn aborted(task: Task, pc: u64, area: u64) -> Option<u64> {
    let field = area + sequence::FIELD;
    let mut address = [0; 8];
    let mut descriptor = [0; sequence::LEN];
    if area == 0 || !task.read(field, &mut address) {
        return None;
    }
    let announced = u64::from_le_bytes(address);
    if announced == 0 || !task.read(announced, &mut descriptor) {
        return None;
    }
    let handler = sequence::aborted(pc, &descriptor)?;
    task.write(field, &[0; 8]).then_some(handler)
}

/// Why the kernel does not let us trace the process.
fn refused(pid: Pid, error: Errno) -> String {
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let why = match (error, yama.trim()) {
        (Errno::EPERM, level @ ("1" | "2" | "3")) => {
            format!(
                "the kernel lets only some trace it (kernel.yama.ptrace_scope is {level}); be root, or set that to 0"
            )
        }
        (Errno::EPERM, _) => "it is another user's, or has privileges".into(),
        _ => error.desc().to_owned(),
    };
    format!("process {pid} cannot be traced: {why}")
}
