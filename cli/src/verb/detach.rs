//! `ppin detach`: lets a program that runs under ppin go on natively.
//!
//! What the process has translated is saved, and its tool reports, as at its end. It is asked by a signal, which it
//! would die of if it did not run under ppin (`ppin_abi::leave`): so the kernel's list of its mappings is read first.
#![allow(unsafe_code)]

use crate::failure::{Failure, YES, failed};
use clap::Args;
use nix::errno::Errno;
use nix::libc::{SIGTRAP, SYS_rt_sigqueueinfo, siginfo_t, syscall};
use ppin_abi::leave::{FOR_USER, MARK};
use ppin_abi::room::RUNTIME;
use std::fs::{self, Metadata};
use std::ops::Range;
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
    if !runs_under_ppin(pid)? {
        return Err(failed(format!(
            "process {pid} does not run under this ppin"
        )));
    }
    request(pid)
        .map_err(|error| failed(format!("process {pid} cannot be asked: {}", error.desc())))?;
    let asked = Instant::now();
    // (A process that has ended meanwhile has no mappings.)
    while runs_under_ppin(pid).unwrap_or(false) {
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

/// Whether the process runs under this executable, and was not left before.
fn runs_under_ppin(pid: i32) -> Result<bool, Failure> {
    let own = fs::metadata("/proc/self/exe").map_err(|error| failed(format!("/proc: {error}")))?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))
        .map_err(|error| failed(format!("process {pid}: {}", reason(&error))))?;
    let mut mappings = maps.lines().filter_map(Mapping::parse);
    let left = mappings
        .clone()
        .any(|mapping| mapping.range.contains(&MARK));
    Ok(!left && mappings.any(|mapping| mapping.is_runtime_of(&own)))
}

/// In words for people: what a process hides, and what is not there.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is none".into(),
        std::io::ErrorKind::PermissionDenied => "it is another user's".into(),
        _ => error.to_string(),
    }
}

/// A line of `/proc/PID/maps` (proc_pid_maps(5)).
#[derive(PartialEq, Eq, Debug)]
struct Mapping {
    range: Range<u64>,
    executable: bool,
    inode: u64,
}

impl Mapping {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let (start, end) = words.next()?.split_once('-')?;
        let executable = words.next()?.contains('x');
        Some(Self {
            range: hex(start)?..hex(end)?,
            executable,
            inode: words.nth(2)?.parse().ok()?,
        })
    }

    /// Whether it is code of the runtime that the executable with this state carries.
    fn is_runtime_of(&self, executable: &Metadata) -> bool {
        // (Some file systems show mappings with another device than their files.)
        self.executable
            && self.inode == executable.ino()
            && (RUNTIME..MARK).contains(&self.range.start)
    }
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
    fn the_runtime_is_code_of_ours_in_its_place() {
        let own = fs::metadata("/proc/self/exe").unwrap();
        let mapping = |start: u64, access: &str, inode: u64| {
            let end = start + 0x1000;
            let line = format!("{start:x}-{end:x} {access} 000e1000 fe:00 {inode}      /a b");
            Mapping::parse(&line).unwrap()
        };
        assert!(mapping(RUNTIME + 0x1000, "r-xp", own.ino()).is_runtime_of(&own));
        assert!(!mapping(RUNTIME + 0x1000, "r--p", own.ino()).is_runtime_of(&own));
        assert!(!mapping(RUNTIME + 0x1000, "r-xp", own.ino() + 1).is_runtime_of(&own));
        assert!(
            !mapping(0x40_0000, "r-xp", own.ino()).is_runtime_of(&own),
            "the launcher's own"
        );
        assert_eq!(Mapping::parse("7ffc-"), None);
    }

    #[test]
    fn this_process_does_not_run_under_ppin() {
        assert_eq!(runs_under_ppin(std::process::id() as i32), Ok(false));
        let none = runs_under_ppin(i32::MAX).unwrap_err();
        assert_eq!(none.message, format!("process {}: there is none", i32::MAX));
    }
}
