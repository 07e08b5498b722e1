//! The process under ppin, from report to report.

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

/// As in `ppin_engine::check::lockstep`.
const MAGIC: u64 = 0x7070_696e_7374_6570;
/// Number of instructions that is not known, as in `ppin_engine::lockstep`.
const UNKNOWN: u64 = u64::MAX;

/// Report of the VM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Where the app is.
    pub pc: u64,
    /// Instructions since the last report, if known.
    pub executed: Option<u64>,
    /// Address of the app's registers.
    pub regs: u64,
    /// The fs base.
    pub fs_base: u64,
}

/// Event in the process under ppin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// A report.
    At(Report),
    /// The process has executed another program.
    Executed,
    /// The process has ended.
    Ended(ExitStatus),
}

/// The process under ppin.
pub struct Ours {
    pid: Pid,
    child: Child,
    /// Its memory; known from the first report on.
    pub mem: File,
    started: bool,
}

impl Ours {
    /// Starts it.
    pub fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.spawn().map_err(|error| error.to_string())?;
        let pid = Pid::from_raw(child.id().cast_signed());
        let mem = File::open("/dev/null").map_err(|error| error.to_string())?;
        Ok(Self {
            pid,
            child,
            mem,
            started: false,
        })
    }

    /// Goes on to the next report.
    pub fn next(&mut self) -> Result<Said, String> {
        let mut signal = None;
        loop {
            if self.started {
                ptrace::cont(self.pid, signal.take())
                    .map_err(|error| format!("continuing: {error}"))?;
            }
            match waitpid(self.pid, None).map_err(|error| format!("waiting: {error}"))? {
                WaitStatus::Exited(_, code) => {
                    return Ok(Said::Ended(ExitStatus::from_raw(code << 8)));
                }
                WaitStatus::Signaled(_, signal, core) => {
                    let raw = signal as i32 | i32::from(core) << 7;
                    return Ok(Said::Ended(ExitStatus::from_raw(raw)));
                }
                WaitStatus::Stopped(_, stop) => match self.stopped(stop)? {
                    Some(said) => return Ok(said),
                    None => signal = Some(stop),
                },
                other => return Err(format!("unexpected stop {other:?}")),
            }
        }
    }

    fn stopped(&mut self, signal: Signal) -> Result<Option<Said>, String> {
        if signal != Signal::SIGTRAP {
            return Ok(None);
        }
        let regs = ptrace::getregs(self.pid).map_err(|error| format!("registers: {error}"))?;
        if regs.rax == MAGIC {
            self.begin()?;
            let executed = (regs.rdx != UNKNOWN).then_some(regs.rdx);
            let report = Report {
                pc: regs.rsi,
                executed,
                regs: regs.rdi,
                fs_base: regs.fs_base,
            };
            return Ok(Some(Said::At(report)));
        }
        // Behind a successful execve the kernel has cleared all registers.
        let cleared = [
            regs.rax, regs.rbx, regs.rcx, regs.rdx, regs.rsi, regs.rdi, regs.rbp,
        ];
        Ok((self.started && cleared == [0; 7]).then_some(Said::Executed))
    }

    fn begin(&mut self) -> Result<(), String> {
        if !self.started {
            let options = ptrace::Options::PTRACE_O_EXITKILL;
            ptrace::setoptions(self.pid, options).map_err(|error| error.to_string())?;
            let mem = File::options()
                .read(true)
                .write(true)
                .open(format!("/proc/{}/mem", self.pid));
            self.mem = mem.map_err(|error| format!("the memory of the program: {error}"))?;
            self.started = true;
        }
        Ok(())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
