//! What is said when ppin itself fails, and `--log`. The failure is made from outside:
//! the program is stopped and sent to where no code is.

#![allow(missing_docs, reason = "tests")]

use nix::sys::ptrace;
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use ppin_tests::build::Guest;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ppin};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Stdio};

const NOWHERE: u64 = 0x1234;
const SIGSEGV: i32 = 11;
const SIGBUS: i32 = 7;

/// A `cat` under ppin that has copied a line and waits for the next.
fn waiting_cat(scratch: &Scratch) -> Child {
    waiting(scratch, &Cmd::new("/bin/cat").args(["-u", "-"]))
}

/// A program under ppin that has answered a line by a line and waits for the next.
fn waiting(scratch: &Scratch, program: &Cmd) -> Child {
    let mut child = Ppin::new(&scratch.db())
        .wrap(program)
        .to_std()
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(b"line\n").unwrap();
    let mut answer = [0; 64];
    let len = child.stdout.as_mut().unwrap().read(&mut answer).unwrap();
    assert!(answer[..len].ends_with(b"\n"));
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
    let child = waiting_cat(&scratch);
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

/// Fills the `number`th writable mapping behind the code of the runtime in `pid`.
fn fill(pid: u32, number: usize, byte: u8) {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let code = |line: &&str| line.contains(" r-xp ") && line.ends_with("/ppin");
    let behind = maps.lines().skip_while(|line| !code(line));
    let mut writable = behind.filter(|line| line.contains(" rw-p "));
    let line = writable.nth(number).unwrap();
    let address = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
    let (start, end) = (address(start), address(end));
    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{pid}/mem"))
        .unwrap();
    let bytes = vec![byte; (end - start) as usize];
    std::os::unix::fs::FileExt::write_all_at(&memory, &bytes, start).unwrap();
}

/// Sends `child` back into the runtime, by a signal that has a handler there. It dies of a
/// fault.
fn dies_in_the_runtime(mut child: Child) {
    let pid = Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGSEGV).unwrap();
    let ended = ppin_tests::command::wait(&mut child, std::time::Duration::from_secs(20));
    let faults = [SIGSEGV, SIGBUS].map(ppin_tests::Ended::Signal);
    assert!(faults.contains(&ended), "{ended:?}");
}

#[test]
fn a_runtime_whose_memory_is_damaged_ends() {
    const DATA: usize = 0;
    let scratch = Scratch::new();
    let child = waiting_cat(&scratch);
    fill(child.id(), DATA, 0);
    dies_in_the_runtime(child);
}

/// The report of the failure needs the heap, whose lock the failing thread may hold, and others wait
/// for it.
#[test]
fn a_runtime_of_several_threads_whose_heap_is_damaged_ends() {
    // (The rest of the data lies between.)
    const HEAP: usize = 2;
    let Some(program) = Guest::load("thread/answers.c").build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let child = waiting(&scratch, &Cmd::new(program));
    fill(child.id(), HEAP, 0x55);
    dies_in_the_runtime(child);
}
