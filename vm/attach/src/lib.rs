//! Brings the runtime into a program that runs already (`ppin attach`).
//!
//! ```text
//! obstacles     what ppin cannot go along with, before and after the threads stop
//! stopped       the program, with all its threads stopped (ptrace(2))
//! task          one stopped thread
//! interrupted   a system call that the stop has interrupted is made again
//! sequence      a restartable sequence that the stop has interrupted is aborted
//! remote        system calls that the program makes for us
//! board         the runtime is mapped and started, and takes the threads over
//! ```
//!
//! Nothing of the program is lost if that fails before the runtime starts: each thread goes on as it was stopped. No
//! signal reaches a thread meanwhile; the kernel keeps them. This process blocks all signals, too: if it were killed
//! half-way, threads would go on with all signals blocked.
#![deny(unsafe_code)]

mod board;
mod interrupted;
pub mod mappings;
mod obstacles;
mod remote;
mod sequence;
mod status;
mod stopped;
mod task;

use nix::sys::signal::SigSet;
use nix::unistd::Pid;
use ppin_abi::boot::RuntimeSpan;
use ppin_inject::block::BootParams;
use ppin_inject::elf::Plan;
use std::fmt;
use std::path::Path;
use stopped::Stopped;

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The program's process id.
    pub pid: i32,
    /// For the boot block. `tasks` is filled in here.
    pub boot: BootParams<'a>,
    /// This executable, by its path.
    pub carrier: &'a Path,
    /// Where the runtime lies in it.
    pub runtime: RuntimeSpan,
    /// How the runtime is mapped.
    pub plan: Plan,
}

/// Why a program was not attached to, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a step gives, or why it fails.
type Result<T> = std::result::Result<T, Failure>;

fn failure<T>(words: impl Into<String>) -> Result<T> {
    Err(Failure(words.into()))
}

/// An error of the kernel's, as a failure to do this.
fn because(what: &str) -> impl Fn(nix::errno::Errno) -> Failure {
    move |error| Failure(format!("{what}: {}", error.desc()))
}

/// Whether process `pid` can be attached to, as far as that can be told without stopping it.
///
/// # Errors
/// Why not.
pub fn check(pid: i32) -> Result<()> {
    obstacles::before(pid)
}

/// Has the program go on under ppin. Returns when it does.
///
/// # Errors
/// Why that is impossible. Unless the words say that it has ended, the program goes on natively.
pub fn attach(request: &Request<'_>) -> Result<()> {
    check(request.pid)?;
    // (Whoever interrupts us must not interrupt half-way.)
    let _ = SigSet::all().thread_block();
    let stopped = Stopped::all(Pid::from_raw(request.pid))?;
    obstacles::when_stopped(&stopped)?;
    let boarded = board::board(stopped, request);
    boarded.map_err(|Failure(why)| Failure(format!("process {}: {why}", request.pid)))
}
