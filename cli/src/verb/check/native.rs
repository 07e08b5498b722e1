//! The native process, one instruction at a time.

use super::ids::Ids;
use crate::failure::Failure;
use clap::Args;
use nix::libc::{self, user_regs_struct};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use ppin_attach::mappings::{self, Mapping};
use std::collections::VecDeque;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

/// Steps after which a place is not looked for any longer.
const FAR: u64 = 2_000_000;
/// Instructions remembered.
const TRAIL: usize = 12;
/// Trap flag.
const TF: u64 = 0x100;
/// A call that the kernel does not have: ppin answers rseq like that.
const NO_CALL: u64 = u64::MAX;
const RSEQ: u64 = libc::SYS_rseq as u64;
const SIGRETURN: u64 = libc::SYS_rt_sigreturn as u64;
const CLONE: u64 = libc::SYS_clone as u64;
const CLONE3: u64 = libc::SYS_clone3 as u64;
const EXECVE: u64 = libc::SYS_execve as u64;
const EXECVEAT: u64 = libc::SYS_execveat as u64;
const CLONE_THREAD: u64 = libc::CLONE_THREAD as u64;

/// The hidden verb `step`: become a program that the parent traces.
#[derive(Debug, Args)]
pub struct Step {
    /// File to execute
    path: PathBuf,
    /// Its arguments, its name first
    #[arg(last = true)]
    command: Vec<OsString>,
}

/// Returns only if it fails.
pub fn become_traced(step: &Step) -> Result<u8, Failure> {
    let words: Result<Vec<_>, _> = step
        .command
        .iter()
        .map(|word| CString::new(word.as_bytes()))
        .collect();
    let path = CString::new(step.path.as_os_str().as_bytes()).map_err(Failure::of_ppin)?;
    let words = words.map_err(Failure::of_ppin)?;
    ptrace::traceme().map_err(|error| Failure::of_ppin(format!("cannot be traced: {error}")))?;
    match nix::unistd::execv(&path, &words) {
        Ok(never) => match never {},
        Err(error) => Err(Failure::of_ppin(format!(
            "{}: {error}",
            step.path.display()
        ))),
    }
}

/// Kind of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A system call; its number and arguments.
    Call(u64, [u64; 6]),
    /// Its result differs from run to run (`rdtsc` and others).
    Unpredictable,
    /// A string instruction that may take several steps.
    Repeated,
    /// Pushes the flags.
    PushFlags,
    /// Any other.
    Other,
}

/// An instruction that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Executed {
    /// Where.
    pub pc: u64,
    /// Its first bytes.
    pub bytes: [u8; 15],
    /// Its kind.
    pub kind: Kind,
}

/// Result of stepping a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// To where it should, after this many instructions.
    There(u64),
    /// Not within reason.
    Lost,
    /// To its end.
    Ended(ExitStatus),
    /// Into another program.
    Executed,
}

/// A process that runs natively, step by step.
pub struct Native {
    pid: Pid,
    child: Child,
    /// Its memory.
    pub mem: File,
    /// Process ids as it knows them.
    pub ids: Ids,
    /// The process is at a handler's first instruction.
    pub at_handler: bool,
    /// A signal to be delivered with the next step.
    signal: Option<Signal>,
    /// The instruction executed last.
    pub last: Option<Executed>,
    trail: VecDeque<Executed>,
}

enum Outcome {
    Done,
    /// Nothing was executed, or not completely.
    Not,
    Ended(ExitStatus),
    Executed,
}

impl Native {
    /// Starts it, up to the program's first instruction.
    pub fn start(command: &mut Command) -> Result<Self, String> {
        let child = command.spawn().map_err(|error| error.to_string())?;
        let pid = Pid::from_raw(child.id().cast_signed());
        match waitpid(pid, None) {
            Ok(WaitStatus::Stopped(_, Signal::SIGTRAP)) => {}
            other => return Err(format!("the program cannot be traced: {other:?}")),
        }
        let options = ptrace::Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(pid, options).map_err(|error| error.to_string())?;
        let mem = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"));
        let mem = mem.map_err(|error| format!("the memory of the program: {error}"))?;
        Ok(Self {
            pid,
            child,
            mem,
            ids: Ids::default(),
            at_handler: false,
            signal: None,
            last: None,
            trail: VecDeque::new(),
        })
    }

    /// Its registers.
    pub fn regs(&self) -> Result<user_regs_struct, String> {
        ptrace::getregs(self.pid).map_err(|error| format!("registers: {error}"))
    }

    /// Its xmm registers.
    pub fn xmm(&self) -> Result<[u32; 64], String> {
        let regs = ptrace::getregset::<ptrace::regset::NT_PRFPREG>(self.pid);
        regs.map(|regs| regs.xmm_space)
            .map_err(|error| format!("registers: {error}"))
    }

    /// Executes so many instructions.
    pub fn steps(&mut self, count: u64) -> Result<Moved, String> {
        let mut done = 0;
        let mut tried = 0;
        while done < count {
            match self.step()? {
                Outcome::Done => done += 1,
                Outcome::Not if tried > FAR => return Ok(Moved::Lost),
                Outcome::Not => tried += 1,
                Outcome::Ended(status) => return Ok(Moved::Ended(status)),
                Outcome::Executed => return Ok(Moved::Executed),
            }
        }
        Ok(Moved::There(done))
    }

    /// Executes one instruction at least, until it is at `pc`.
    pub fn until(&mut self, pc: u64) -> Result<Moved, String> {
        let mut done = 0;
        for _ in 0..FAR {
            let before = self.signal.is_some();
            match self.step()? {
                Outcome::Done => done += 1,
                Outcome::Not => {}
                Outcome::Ended(status) => return Ok(Moved::Ended(status)),
                Outcome::Executed => return Ok(Moved::Executed),
            }
            // A signal that is only noticed does not move it; one delivered does.
            let moved = done != 0 || before;
            if moved && self.signal.is_none() && self.regs()?.rip == pc {
                return Ok(Moved::There(done));
            }
        }
        Ok(Moved::Lost)
    }

    /// Executes all that is left.
    pub fn run_out(&mut self) -> Result<(u64, Moved), String> {
        let mut done = 0;
        while done < FAR {
            match self.step()? {
                Outcome::Done => done += 1,
                Outcome::Not => {}
                // The call that ends it does not return, but it was executed.
                Outcome::Ended(status) => return Ok((done + 1, Moved::Ended(status))),
                Outcome::Executed => return Ok((done, Moved::Executed)),
            }
        }
        Ok((done, Moved::Lost))
    }

    fn step(&mut self) -> Result<Outcome, String> {
        let mut regs = self.regs()?;
        let executed = self.look(&regs);
        self.prepare(&executed, &mut regs)?;
        let failed = |error| format!("stepping: {error}");
        let delivered = self.signal.take();
        ptrace::step(self.pid, delivered).map_err(failed)?;
        match waitpid(self.pid, None).map_err(failed)? {
            WaitStatus::Exited(_, code) => Ok(Outcome::Ended(ExitStatus::from_raw(code << 8))),
            WaitStatus::Signaled(_, signal, core) => Ok(Outcome::Ended(ExitStatus::from_raw(
                signal as i32 | i32::from(core) << 7,
            ))),
            WaitStatus::Stopped(_, Signal::SIGTRAP) if executed.bytes[0] != 0xcc => {
                self.stepped(executed, &regs, delivered)
            }
            WaitStatus::Stopped(_, signal) => {
                self.signal = Some(signal);
                Ok(Outcome::Not)
            }
            other => Err(format!("unexpected stop {other:?}")),
        }
    }

    /// The instruction that comes next.
    fn look(&self, regs: &user_regs_struct) -> Executed {
        let mut bytes = [0; 15];
        // Less than 15 bytes before the end of a mapping: what there is.
        for len in [15, 8, 4, 2, 1] {
            if self.mem.read_exact_at(&mut bytes[..len], regs.rip).is_ok() {
                break;
            }
        }
        Executed {
            pc: regs.rip,
            bytes,
            kind: kind(&bytes, regs),
        }
    }

    /// Calls that ppin answers itself, those about processes, and those that end the
    /// comparison.
    fn prepare(&self, next: &Executed, regs: &mut user_regs_struct) -> Result<(), String> {
        let Kind::Call(number, args) = next.kind else {
            return Ok(());
        };
        let mut real = args;
        self.ids.translate(number, &mut real);
        if real != args || number == RSEQ {
            set_args(regs, &real);
            if number == RSEQ {
                regs.rax = NO_CALL;
            }
            self.set_regs(*regs)?;
        }
        let flags = match number {
            CLONE => args[0],
            CLONE3 => self.word(args[0]),
            _ => 0,
        };
        if flags & CLONE_THREAD != 0 {
            return Err("the program creates a thread, and only one can be compared".into());
        }
        Ok(())
    }

    /// Changes the result of the call that was made last.
    pub fn set_result(&self, result: u64) -> Result<(), String> {
        let mut regs = self.regs()?;
        regs.rax = result;
        self.set_regs(regs)
    }

    fn set_regs(&self, regs: user_regs_struct) -> Result<(), String> {
        ptrace::setregs(self.pid, regs).map_err(|error| format!("registers: {error}"))
    }

    fn word(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        let _ = self.mem.read_exact_at(&mut bytes, at);
        u64::from_le_bytes(bytes)
    }

    fn stepped(
        &mut self,
        executed: Executed,
        before: &user_regs_struct,
        delivered: Option<Signal>,
    ) -> Result<Outcome, String> {
        let mut after = self.regs()?;
        let same_place = after.rip == before.rip;
        match executed.kind {
            Kind::Call(EXECVE | EXECVEAT, _) if after.rax == 0 => return Ok(Outcome::Executed),
            // The kernel has saved the trap flag in r11; the program must not see it. The
            // arguments, which were replaced for the call, are put back.
            Kind::Call(number, args) if number != SIGRETURN => {
                after.r11 &= !TF;
                set_args(&mut after, &args);
                self.set_regs(after)?;
            }
            Kind::PushFlags => {
                let word = self.word(after.rsp) & !TF;
                let _ = self.mem.write_all_at(&word.to_le_bytes(), after.rsp);
            }
            _ => {}
        }
        // A handler was entered, or a call is to be made again.
        self.at_handler = delivered.is_some_and(|signal| in_handler(signal, &after));
        if self.at_handler || same_place && matches!(executed.kind, Kind::Repeated | Kind::Call(..))
        {
            return Ok(Outcome::Not);
        }
        self.remember(executed);
        Ok(Outcome::Done)
    }

    fn remember(&mut self, executed: Executed) {
        self.last = Some(executed);
        if self.trail.len() == TRAIL {
            self.trail.pop_front();
        }
        self.trail.push_back(executed);
    }

    /// The last instructions, in order.
    pub fn trail(&self) -> impl Iterator<Item = &Executed> {
        self.trail.iter()
    }

    /// ` in FILE+0x...`, if a file is mapped there.
    pub fn place(&self, pc: u64) -> String {
        let mut all = mappings::of(self.pid).unwrap_or_default().into_iter();
        let found = all.find(|mapping| mapping.range.contains(&pc) && !mapping.path.is_empty());
        found.map_or_else(
            String::new,
            |Mapping {
                 range,
                 offset,
                 path,
                 ..
             }| { format!(" in {path}+{:#x}", pc - range.start + offset) },
        )
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_args(regs: &mut user_regs_struct, args: &[u64; 6]) {
    [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9] = *args;
}

/// Whether a handler is about to run: the step that delivers a signal does nothing
/// else. The kernel's frame begins with the return address, the context follows.
fn in_handler(signal: Signal, regs: &user_regs_struct) -> bool {
    regs.rdi == signal as u64 && regs.rdx == regs.rsp.wrapping_add(8)
}

fn kind(bytes: &[u8; 15], regs: &user_regs_struct) -> Kind {
    let prefix = |b: &u8| matches!(b, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let prefixes = bytes.iter().take_while(|b| prefix(b)).count().min(14);
    let repeated = bytes[..prefixes].iter().any(|b| matches!(b, 0xf2 | 0xf3));
    match bytes[prefixes..] {
        [0x0f, 0x05, ..] => {
            let args = [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9];
            Kind::Call(regs.rax, args)
        }
        [0x0f, 0x31 | 0xa2, ..] | [0x0f, 0x01, 0xf9, ..] | [0x0f, 0xc7, 0xf0..=0xff, ..] => {
            Kind::Unpredictable
        }
        [0xa4..=0xa7 | 0xaa..=0xaf | 0x6c..=0x6f, ..] if repeated => Kind::Repeated,
        [0x9c, ..] => Kind::PushFlags,
        _ => Kind::Other,
    }
}
