//! System calls that a stopped thread makes for us.

use crate::mappings::{self, Mapping};
use crate::stopped::Held;
use crate::task::Task;
use crate::{Failure, Result, because, failure};
use nix::errno::Errno;
use nix::libc::{c_long, user_regs_struct as Regs};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

/// `syscall`.
const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// Bytes of code that are read at once.
const PIECE: usize = 64 << 10;

/// A thread by which we make system calls.
#[derive(Debug)]
pub struct Remote {
    pub task: Task,
    /// Its registers between calls.
    regs: Regs,
    /// Address of a `syscall` in the program.
    at: u64,
    /// A stop of the process was asked for meanwhile; it is put off.
    stop: bool,
}

impl Remote {
    /// Makes calls by this thread.
    pub fn by(held: &Held) -> Result<Self> {
        let all = mappings::of(held.task.0).map_err(|error| Failure(error.to_string()))?;
        let code = all.iter().filter(|it| it.executable);
        // (The kernel's own code has one, and is small.)
        let (kernels, others): (Vec<_>, Vec<_>) = code.partition(|it| it.path == "[vdso]");
        let mut places = kernels.into_iter().chain(others);
        let Some(at) = places.find_map(|it| find(held.task, it)) else {
            return failure("none of its code makes system calls");
        };
        Ok(Self {
            task: held.task,
            regs: held.regs,
            at,
            stop: false,
        })
    }

    /// Has the thread make a call with these arguments, and returns its result.
    pub fn call(&mut self, number: c_long, args: [u64; 6]) -> Result<u64> {
        let regs = Regs {
            rip: self.at,
            rax: number as u64,
            orig_rax: u64::MAX,
            rdi: args[0],
            rsi: args[1],
            rdx: args[2],
            r10: args[3],
            r8: args[4],
            r9: args[5],
            ..self.regs
        };
        self.task
            .set_registers(&regs)
            .map_err(because("its registers cannot be set"))?;
        self.run_to_call()?;
        self.run_to_call()?;
        let raw = self.registers()?.rax;
        match raw as i64 {
            error @ -4095..0 => failure(Errno::from_raw(-error as i32).desc()),
            _ => Ok(raw),
        }
    }

    /// The registers as they are.
    pub fn registers(&self) -> Result<Regs> {
        self.task
            .registers()
            .map_err(because("its registers cannot be read"))
    }

    /// Lets the thread run to the beginning or the end of a system call.
    fn run_to_call(&mut self) -> Result<()> {
        let mut fault = None;
        loop {
            let went_on = self.task.to_call(fault.take());
            match self.after(went_on)? {
                WaitStatus::PtraceSyscall(_) => return Ok(()),
                WaitStatus::Stopped(_, signal) => fault = Some(signal),
                _ => {}
            }
        }
    }

    /// Lets the thread run to the trap at which its registers are as `wanted`; returns them.
    pub fn run_to_trap(&mut self, wanted: impl Fn(&Regs) -> bool) -> Result<Regs> {
        let mut fault = None;
        loop {
            let went_on = self.task.go_on(fault.take());
            // (All signals but faults are blocked; the runtime handles these.)
            if let WaitStatus::Stopped(_, signal) = self.after(went_on)? {
                let regs = self.registers()?;
                if signal == Signal::SIGTRAP && wanted(&regs) {
                    return Ok(regs);
                }
                fault = Some(signal);
            }
        }
    }

    /// The next stop of the thread, which has been told to go on. A stop of the process is put off.
    fn after(&mut self, went_on: nix::Result<()>) -> Result<WaitStatus> {
        went_on.map_err(because("it cannot go on"))?;
        match waitpid(self.task.0, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::Stopped(pid, Signal::SIGSTOP)) => {
                self.stop = true;
                Ok(WaitStatus::Continued(pid))
            }
            Ok(WaitStatus::Exited(_, status)) => {
                failure(format!("it has ended with status {status}"))
            }
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                failure(format!("it has been killed by signal {}", signal.as_str()))
            }
            Ok(status) => Ok(status),
            Err(error) => failure(error.desc()),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if self.stop {
            let _ = kill(self.task.0, Signal::SIGSTOP);
        }
    }
}

/// Address of a `syscall` in `mapping`.
fn find(task: Task, mapping: &Mapping) -> Option<u64> {
    let mut bytes = vec![0; PIECE];
    mapping.range.clone().step_by(PIECE).find_map(|start| {
        let len = PIECE.min((mapping.range.end - start) as usize);
        let bytes = &mut bytes[..len];
        task.read(start, bytes).then_some(())?;
        let at = bytes
            .windows(SYSCALL.len())
            .position(|two| two == SYSCALL)?;
        Some(start + at as u64)
    })
}
