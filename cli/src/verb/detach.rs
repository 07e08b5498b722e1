//! `ppin detach`: lets a program that runs under ppin go on natively.
//!
//! What the process has translated is saved, and its tool reports, as at its end. It is asked by a signal, which it
//! would die of if it did not run under ppin (`ppin_abi::leave`): so the kernel's list of its mappings is read first.
#![allow(unsafe_code)]

use crate::failure::{Failure, YES, failed};
use clap::Args;
use nix::errno::Errno;
use nix::libc::{SIGTRAP, SYS_rt_sigqueueinfo, siginfo_t, syscall};
use ppin_abi::leave::FOR_USER;
use ppin_attach::mappings::{self, reason};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for the process. (It saves and reports meanwhile.)
const LONGEST: Duration = Duration::from_secs(10);

/// `ppin detach`.
#[derive(Debug, Args)]
#[command(
    after_help = "What the program has translated is saved, and its tool reports. The processes that it starts from then on run \
                  natively, too; those that it has started already stay under ppin.\n\n\
                  Exit status: 0 the process runs natively, 1 it does not run under ppin or cannot be left, 2 wrong use."
)]
pub struct Detach {
    /// Process id of the program
    #[arg(value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pid: i32,
}

/// Asks the process, and waits until it runs natively.
pub fn detach(args: &Detach) -> Result<u8, Failure> {
    let pid = args.pid;
    let own = fs::metadata("/proc/self/exe").map_err(|error| failed(format!("/proc: {error}")))?;
    let runs_under_ppin = || runs_under(pid, own.ino());
    if !runs_under_ppin()? {
        return Err(failed(format!(
            "process {pid} does not run under this ppin"
        )));
    }
    request(pid)
        .map_err(|error| failed(format!("process {pid} cannot be asked: {}", error.desc())))?;
    let asked = Instant::now();
    // (A process that has ended meanwhile has no mappings.)
    while runs_under_ppin().unwrap_or(false) {
        if asked.elapsed() > LONGEST {
            return Err(failed(format!(
                "process {pid} stays under ppin: it is stopped, has a filter of system calls, or shares its memory \
                 with another process"
            )));
        }
        sleep(Duration::from_millis(2));
    }
    Ok(YES)
}

/// Whether the process runs under the executable with this number, and was not left before.
fn runs_under(pid: i32, executable: u64) -> Result<bool, Failure> {
    let all = mappings::of(pid);
    let all = all.map_err(|error| failed(format!("process {pid}: {}", reason(&error))))?;
    Ok(mappings::run_under_ppin(&all, Some(executable)))
}

/// Sends the request.
fn request(pid: i32) -> Result<(), Errno> {
    // SAFETY: it consists of integers.
    let mut info: siginfo_t = unsafe { std::mem::zeroed() };
    (info.si_signo, info.si_code) = (SIGTRAP, FOR_USER);
    // SAFETY: a siginfo of ours.
    let sent = unsafe { syscall(SYS_rt_sigqueueinfo, pid, SIGTRAP, &raw const info) };
    Errno::result(sent).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_does_not_run_under_ppin() {
        let own = fs::metadata("/proc/self/exe").unwrap().ino();
        assert_eq!(runs_under(std::process::id() as i32, own), Ok(false));
        let none = runs_under(i32::MAX, own).unwrap_err();
        assert_eq!(none.message, format!("process {}: there is none", i32::MAX));
    }
}
