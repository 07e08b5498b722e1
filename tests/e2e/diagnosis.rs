//! What is said when ppin itself fails, and `--log`. The failure is made from outside:
//! the program is stopped and sent to where no code is.

#![allow(missing_docs, reason = "tests")]

use nix::sys::ptrace;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ppin};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Stdio};

const NOWHERE: u64 = 0x1234;
const SIGSEGV: i32 = 11;

/// A `cat` under ppin that has copied a line and waits for the next.
fn waiting(scratch: &Scratch) -> Child {
    let cat = Cmd::new("/bin/cat").args(["-u", "-"]);
    let mut child = Ppin::new(&scratch.db())
        .wrap(&cat)
        .to_std()
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 5];
    child.stdin.as_mut().unwrap().write_all(b"line\n").unwrap();
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut line)
        .unwrap();
    // The way back to the next read has to be translated first, under a lock.
    while !reads(child.id()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

/// Whether process `pid` sleeps in read(2), whose number is 0.
fn reads(pid: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall"));
    call.is_ok_and(|call| call.starts_with("0 "))
}

/// Makes `pid` go on at `pc`.
fn derail(pid: Pid, pc: u64) {
    ptrace::attach(pid).unwrap();
    waitpid(pid, None).unwrap();
    let mut registers = ptrace::getregs(pid).unwrap();
    registers.rip = pc;
    // No system call is to be made again.
    registers.orig_rax = u64::MAX;
    ptrace::setregs(pid, registers).unwrap();
    ptrace::detach(pid, None).unwrap();
}

#[test]
fn a_failure_names_the_code_and_the_command() {
    let scratch = Scratch::new();
    let child = waiting(&scratch);
    derail(Pid::from_raw(child.id() as i32), NOWHERE);
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(SIGSEGV), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        lines[0].starts_with("ppin: internal error: signal 11") && lines[0].contains("0x1234"),
        "{said}"
    );
    let has = |words: &[&str]| {
        lines
            .iter()
            .any(|line| words.iter().all(|word| line.contains(word)))
    };
    assert!(has(&["  last "]), "{said}");
    assert!(has(&["fragment of", "made by this run"]), "{said}");
    assert!(
        has(&["to repeat: ppin run --db", "-- /bin/cat -u -"]),
        "{said}"
    );
}

#[test]
fn a_log_tells_what_each_process_did() {
    let scratch = Scratch::new();
    let file = scratch.path().join("log");
    let shell = Cmd::new("/bin/sh").args(["-c", "/bin/true; exit 3"]);
    let path = file.to_str().unwrap();
    let outcome = Ppin::new(&scratch.db())
        .with(&["--log", path])
        .wrap(&shell)
        .run();
    assert_eq!(outcome.errors(), "");
    let log = std::fs::read_to_string(&file).unwrap();
    let with = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!(with("start of "), 2, "{log}");
    assert_eq!(with("under null"), 2, "{log}");
    assert!(
        with("translated to ") > 100 && with("image /") >= 4,
        "{log}"
    );
    assert!(log.ends_with(" end\n"), "{log}");
}

/// Zeroes the data of the runtime in `pid`.
fn damage(pid: u32) {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let data = |line: &&str| line.contains(" rw-p ") && line.contains("/ppin");
    let line = maps.lines().find(data).unwrap();
    let address = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
    let (start, end) = (address(start), address(end));
    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{pid}/mem"))
        .unwrap();
    let zeroes = vec![0; (end - start) as usize];
    std::os::unix::fs::FileExt::write_all_at(&memory, &zeroes, start).unwrap();
}

#[test]
fn a_runtime_whose_memory_is_damaged_ends() {
    let scratch = Scratch::new();
    let mut child = waiting(&scratch);
    damage(child.id());
    // It comes back into the runtime: by a signal that has a handler there.
    nix::sys::signal::kill(
        Pid::from_raw(child.id() as i32),
        nix::sys::signal::Signal::SIGSEGV,
    )
    .unwrap();
    let ended = ppin_tests::command::wait(&mut child, std::time::Duration::from_secs(20));
    assert_eq!(ended, ppin_tests::Ended::Signal(SIGSEGV));
}
