//! Databases that were made elsewhere: copied, packed, checked out, laid beneath another one;
//! for programs whose files are others to the kernel, with the same contents.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::write_program;
use ppin_tests::stats::Stats;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Outcome, Ppin};
use std::fs;
use std::path::{Path, PathBuf};

/// A program of more than a megabyte that every machine has.
const PROGRAM: &str = "/bin/bash";

fn command(program: &Path) -> Cmd {
    Cmd::new(program).args(["-c", "for i in 1 2 3; do echo $((i * i)); done"])
}

fn run(ppin: &Ppin, cmd: &Cmd, scratch: &Scratch) -> (Outcome, Stats) {
    let file = scratch.path().join("stats");
    let _ = fs::remove_file(&file);
    let option = format!("--stats={}", file.display());
    let outcome = ppin.with(&[&option]).wrap(cmd).run();
    (outcome, Stats::one(&file))
}

/// A database, and what its first run compiled.
fn trained(scratch: &Scratch) -> (Outcome, u64) {
    let ppin = Ppin::new(&scratch.db());
    let original = install(scratch, "original");
    let (outcome, cold) = run(&ppin, &command(&original), scratch);
    for _ in 0..3 {
        run(&ppin, &command(&original), scratch);
    }
    (outcome, cold.compiled())
}

/// The program under a new inode, as on another machine.
fn install(scratch: &Scratch, name: &str) -> PathBuf {
    let path = scratch.path().join(name);
    write_program(&path, &fs::read(PROGRAM).expect("the program"), 0o755);
    path
}

fn shell(scratch: &Scratch, script: &str) {
    Cmd::new("/bin/sh")
        .args(["-c", script])
        .cwd(scratch.path())
        .run_ok();
}

/// The first run with the database `db` and more options, for a program that is new here.
fn check_first_run(scratch: &Scratch, ppin: &Ppin, what: &str, right: &(Outcome, u64)) {
    let program = install(scratch, &format!("program-{what}"));
    let (outcome, stats) = run(ppin, &command(&program), scratch);
    assert_eq!(outcome.stdout, right.0.stdout, "{what}");
    assert!(100 * stats.compiled() <= right.1, "{what}: {stats:?}");
    assert!(stats.rejections().is_empty(), "{what}: {stats:?}");
}

#[test]
fn a_copied_database_is_warm_at_once() {
    let scratch = Scratch::new();
    let right = trained(&scratch);
    let db = scratch.db().display().to_string();
    for (name, copy) in [
        ("cp", format!("cp -r {db} cp")),
        (
            "tar",
            format!("mkdir -m 700 tar; tar -C {db} -cf - . | tar -C tar -xf -"),
        ),
        (
            "old",
            format!("cp -r {db} old; find old -exec touch -d 1980-01-01 {{}} +"),
        ),
        (
            "late",
            format!("cp -r {db} late; find late -exec touch -d 2100-01-01 {{}} +"),
        ),
    ] {
        shell(&scratch, &copy);
        let ppin = Ppin::new(&scratch.path().join(name));
        check_first_run(
            &scratch,
            &ppin.with(&["--cache", "ro"]),
            &format!("{name}-ro"),
            &right,
        );
        check_first_run(&scratch, &ppin, name, &right);
    }
}

#[test]
fn a_database_beneath_an_empty_one_is_warm_at_once() {
    let scratch = Scratch::new();
    let right = trained(&scratch);
    let beneath = scratch.db().display().to_string();
    let ppin = Ppin::new(&scratch.path().join("top")).with(&["--db", &beneath]);
    for time in ["first", "second"] {
        check_first_run(&scratch, &ppin, time, &right);
    }
}

#[test]
fn an_imported_database_is_warm_at_once() {
    let scratch = Scratch::new();
    let right = trained(&scratch);
    let packed = scratch.path().join("packed").display().to_string();
    let other = scratch.path().join("other");
    let from = scratch.db().display().to_string();
    let ppin = Ppin::new(&other);
    ppin.verb(&["db", "--db", &from, "export", &packed])
        .run_ok();
    ppin.verb(&[
        "db",
        "--db",
        &other.display().to_string(),
        "import",
        &packed,
    ])
    .run_ok();
    check_first_run(&scratch, &ppin, "imported", &right);
}

/// One build id, two contents: what differs is translated anew, once, and is then linked as
/// anything else, also from code that is as it was.
#[test]
fn a_file_patched_under_its_build_id_runs_its_new_code_and_is_warm() {
    let scratch = Scratch::new();
    let source = "#include <stdio.h>\n\
        __attribute__((noipa)) int value(void) { return 7; }\n\
        __attribute__((noipa)) int next(int x) { return x + value(); }\n\
        int main(void) { int sum = 0; for (int i = 0; i < 100000; i++) sum = next(sum);\n\
        printf(\"%d\\n\", sum); }\n";
    fs::write(scratch.path().join("main.c"), source).expect("source");
    shell(&scratch, "gcc -O1 -Wl,--build-id -o program main.c");
    let program = scratch.path().join("program");
    let cmd = Cmd::new(&program);
    let ppin = Ppin::new(&scratch.db());
    for _ in 0..2 {
        assert_eq!(run(&ppin, &cmd, &scratch).0.text(), "700000\n");
    }
    let mut bytes = fs::read(&program).expect("program");
    let code = [0xb8, 7, 0, 0, 0];
    let at = bytes
        .windows(5)
        .position(|found| found == code)
        .expect("mov $7, %eax");
    bytes[at + 1] = 9;
    write_program(&program, &bytes, 0o755);
    for time in 0..4 {
        let (outcome, stats) = run(&ppin, &cmd, &scratch);
        assert_eq!(outcome.text(), "900000\n");
        assert!(stats.number("vm_entries") < 10_000, "{stats:?}");
        assert!(time == 0 || stats.is_warm(), "{stats:?}");
    }
}
