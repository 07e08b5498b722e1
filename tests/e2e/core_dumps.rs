//! Core files: registers, stacks and threads are the program's, and so are the files and
//! the memory in them. gdb reads a native one and those of a cold and a warm run; what it says
//! must be equal.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::skip;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Ppin};
use std::fs;
use std::path::{Path, PathBuf};

const GUEST: &str = "thread/dies_beside_others.c";

/// What gdb is asked. Registers that hold process ids differ by the run.
const STACKS: &[&str] = &["thread apply all bt"];
const ALL: &[&str] = &[
    "thread apply all bt",
    "info registers",
    "info float",
    "print $_siginfo",
    "info auxv",
    "info proc mappings",
];

/// Whether the kernel writes cores into the folder that a program runs in.
fn cores_are_files(test: &str) -> bool {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let here = !pattern.starts_with(['|', '@']) && !pattern.contains('/');
    if !here {
        skip::skipped(test, &format!("cores go to {:?}", pattern.trim()));
    }
    here
}

/// Runs `cmd` where cores may be written, at the same addresses each time; the core file.
fn core_of(scratch: &Scratch, cmd: &Cmd, signal: i32) -> PathBuf {
    const SCRIPT: &str = "ulimit -c unlimited && exec setarch -R \"$0\" \"$@\"";
    let cmd = cmd.prefixed(Path::new("/bin/sh"), &["-c".as_ref(), SCRIPT.as_ref()]);
    let outcome = scratch.run(&cmd);
    assert_eq!(
        outcome.ended,
        Ended::Signal(signal),
        "{}\n{outcome:?}",
        cmd.shell()
    );
    let cwd = scratch.path().join("cwd");
    let mut files = fs::read_dir(&cwd).expect("folder").flatten();
    let core = files
        .next()
        .unwrap_or_else(|| panic!("no core: {}", cmd.shell()));
    // The next run empties the folder.
    let kept = scratch.path().join("core");
    fs::rename(core.path(), &kept).expect("core kept");
    kept
}

/// What gdb says of the core, thread by thread, without ids.
fn told(gdb: &Path, exe: &Path, core: &Path, questions: &[&str]) -> Vec<String> {
    let mut cmd = Cmd::new(gdb).args(["-batch", "-nx"]);
    for question in questions {
        cmd = cmd.args(["-ex", *question]);
    }
    let said = cmd.args([exe, core]).run_ok().text();
    let mut parts: Vec<String> = Vec::new();
    let signal = said
        .lines()
        .find(|line| line.starts_with("Program terminated"));
    parts.extend(signal.map(str::to_owned));
    // It wonders at the size of some notes, native ones, too.
    let lines = said.lines().filter(|line| !line.starts_with("warning:"));
    for line in lines.skip_while(|line| !line.starts_with("Thread ")) {
        if line.starts_with("Thread ") || line.starts_with("rax ") {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts.sort();
    parts
}

fn check(test: &str, cases: &[(&str, i32, &str)], questions: &[&str]) {
    let Some(gdb) = skip::find_program("gdb", test) else {
        return;
    };
    if !cores_are_files(test) || skip::find_program("setarch", test).is_none() {
        return;
    }
    let exe = Guest::load(GUEST).build("pie").expect("guest");
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    for (name, signal, how) in cases {
        let native = Cmd::new(&exe).args([name, how]);
        let expected = told(&gdb, &exe, &core_of(&scratch, &native, *signal), questions);
        assert!(expected.len() > 4, "natively: {expected:#?}");
        let _ = fs::remove_dir_all(scratch.db());
        for way in ["cold", "warm"] {
            let core = core_of(&scratch, &ppin.wrap(&native), *signal);
            let found = told(&gdb, &exe, &core, questions);
            assert_eq!(found, expected, "{name} by {how}, {way}");
        }
    }
}

#[test]
fn a_fault_leaves_the_programs_threads_and_registers() {
    let cases = [
        ("SEGV", 11, "fault"),
        ("FPE", 8, "fault"),
        ("ILL", 4, "fault"),
        ("TRAP", 5, "fault"),
        ("BUS", 7, "fault"),
    ];
    check("core files of faults", &cases, ALL);
}

#[test]
fn signals_that_are_sent_leave_the_programs_threads() {
    let cases = [
        ("QUIT", 3, "other"),
        ("QUIT", 3, "raise"),
        ("ILL", 4, "kill"),
        ("TRAP", 5, "other"),
        ("ABRT", 6, "abort"),
        ("BUS", 7, "raise"),
        ("FPE", 8, "kill"),
        ("SEGV", 11, "other"),
        ("SEGV", 11, "raise"),
        ("XCPU", 24, "other"),
        ("XFSZ", 25, "fault"),
        ("SYS", 31, "raise"),
    ];
    check("core files of sent signals", &cases, STACKS);
}
