//! The independent truth for counts: runs a program one instruction at a time under
//! ptrace and counts what completed.

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::ffi::c_void;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What single-stepping saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Completed instructions; a REP-prefixed one once for each execution.
    pub instructions: u64,
    /// Basic blocks entered: the first instruction, and each one after a control
    /// transfer (taken or not), a system call or an exception's handler entry.
    pub blocks: u64,
}

/// Steps through `program` (single-threaded) from its first instruction to its end.
#[allow(
    clippy::zombie_processes,
    reason = "the stepper waits for it by its id"
)]
pub fn count(program: &Path, args: &[String]) -> Counted {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: PTRACE_TRACEME is a plain system call, safe between fork and exec.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
    let child = command
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", program.display()));
    let pid = Pid::from_raw(child.id().cast_signed());
    expect_exec_stop(pid);
    Stepper {
        pid,
        counted: Counted::default(),
        block_starts: true,
    }
    .run()
}

fn expect_exec_stop(pid: Pid) {
    let status = waitpid(pid, None).expect("wait for exec");
    assert!(
        matches!(status, WaitStatus::Stopped(_, Signal::SIGTRAP)),
        "{status:?}"
    );
}

struct Stepper {
    pid: Pid,
    counted: Counted,
    /// The next instruction to complete begins a block.
    block_starts: bool,
}

impl Stepper {
    fn run(mut self) -> Counted {
        let mut pending = None;
        loop {
            let before = Place::read(self.pid);
            ptrace::step(self.pid, pending).expect("step");
            match waitpid(self.pid, None).expect("wait") {
                WaitStatus::Stopped(_, Signal::SIGTRAP) if pending.is_none() => {
                    self.completed(&before);
                }
                // A handler was entered: no instruction ran in that step.
                WaitStatus::Stopped(_, Signal::SIGTRAP) => self.block_starts = true,
                WaitStatus::Stopped(_, signal) => {
                    pending = Some(signal);
                    continue;
                }
                // The exit system call does not return, but it was executed.
                WaitStatus::Exited(..) => {
                    self.enter_block();
                    self.counted.instructions += 1;
                    return self.counted;
                }
                WaitStatus::Signaled(..) => return self.counted,
                other => panic!("unexpected stop {other:?}"),
            }
            pending = None;
        }
    }

    fn enter_block(&mut self) {
        self.counted.blocks += u64::from(std::mem::take(&mut self.block_starts));
    }

    fn completed(&mut self, before: &Place) {
        self.enter_block();
        let repeats = before.is_rep() && Place::read(self.pid).rip == before.rip;
        if !repeats {
            self.counted.instructions += 1;
            self.block_starts = before.ends_block();
        }
    }
}

/// An instruction's address and first bytes.
struct Place {
    rip: u64,
    bytes: [u8; 16],
}

impl Place {
    fn read(pid: Pid) -> Place {
        let rip = ptrace::getregs(pid).expect("registers").rip;
        let mut bytes = [0; 16];
        for (at, chunk) in bytes.chunks_exact_mut(8).enumerate() {
            let address = rip.wrapping_add(8 * at as u64) as *mut c_void;
            // The second word may lie in a page that does not exist.
            let word = ptrace::read(pid, address).unwrap_or(0);
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Place { rip, bytes }
    }

    /// Opcode bytes behind legacy and REX prefixes.
    fn opcode(&self) -> &[u8] {
        let prefix = |b: &u8| matches!(b, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
        let skip = self.bytes.iter().take_while(|b| prefix(b)).count().min(14);
        &self.bytes[skip..]
    }

    fn is_rep(&self) -> bool {
        let string = matches!(self.opcode()[0], 0xa4..=0xa7 | 0xaa..=0xaf | 0x6c..=0x6f);
        string && self.bytes.iter().take(4).any(|b| matches!(b, 0xf2 | 0xf3))
    }

    /// Control transfers and system calls, in the subset that the counted guests use.
    #[rustfmt::skip] // a table
    fn ends_block(&self) -> bool {
        match *self.opcode() {
            [0x70..=0x7f | 0xe0..=0xe3 | 0xe8 | 0xe9 | 0xeb | 0xc2 | 0xc3 | 0xcc | 0xcd, ..] => true,
            [0x0f, 0x80..=0x8f | 0x05, ..] => true,
            [0xff, modrm, ..] => matches!((modrm >> 3) & 7, 2..=5),
            _ => false,
        }
    }
}
