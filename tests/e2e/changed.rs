//! Programs and libraries that are others than in the run before.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::{Guest, write_program};
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Ppin};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A program and one that differs from it by an immediate operand, of equal length.
fn two_versions(scratch: &Scratch) -> Option<(Vec<u8>, Vec<u8>, std::path::PathBuf)> {
    let exe = Guest::load("count/straight.S").build("nostdlib")?;
    let old = fs::read(exe).expect("guest");
    let code = [0xbf, 7, 0, 0, 0, 0x0f, 0x05];
    let at = old
        .windows(code.len())
        .position(|bytes| bytes == code)
        .expect("mov $7, %edi; syscall");
    let mut new = old.clone();
    new[at + 1] = 9;
    let path = scratch.path().join("program");
    write_program(&path, &old, 0o755);
    Some((old, new, path))
}

#[test]
fn a_program_modified_in_place_runs_its_new_code() {
    let scratch = Scratch::new();
    let Some((_, new, path)) = two_versions(&scratch) else {
        return;
    };
    check_change(&scratch, &path, || write_program(&path, &new, 0o755));
}

/// What an earlier run has kept, and this one has made writable before it came there, is watched for stores.
#[test]
fn kept_code_that_was_made_writable_meanwhile_is_watched() {
    let Some(exe) = Guest::load("rewritten/kept_and_rewritten.c").build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let keeping = ppin.wrap(&Cmd::new(&exe).args(["kept"]));
    assert_eq!(keeping.run_ok().text(), "ok\n");
    // (What the plan names is let run before that.)
    let plans = Cmd::new("find").args([
        scratch.path().to_str().expect("UTF-8"),
        "-name",
        "start.plan",
        "-delete",
    ]);
    plans.run_ok();
    assert_eq!(ppin.wrap(&Cmd::new(&exe)).run_ok().text(), "ok\n");
}

#[test]
fn a_replaced_program_runs_its_new_code() {
    let scratch = Scratch::new();
    let Some((_, new, path)) = two_versions(&scratch) else {
        return;
    };
    check_change(&scratch, &path, || {
        let other = scratch.path().join("new");
        write_program(&other, &new, 0o755);
        fs::rename(&other, &path).expect("replace");
    });
}

/// Old code 7, new code 9; the old modification time is put back after the change.
fn check_change(scratch: &Scratch, path: &Path, change: impl Fn()) {
    let ppin = Ppin::new(&scratch.db());
    let old_time = SystemTime::now() - Duration::from_secs(1000);
    set_mtime(path, old_time);
    for _ in 0..3 {
        assert_eq!(ppin.wrap(&Cmd::new(path)).run().ended, Ended::Exit(7));
    }
    change();
    set_mtime(path, old_time);
    for way in ["just after", "later", "later still"] {
        assert_eq!(
            ppin.wrap(&Cmd::new(path)).run().ended,
            Ended::Exit(9),
            "{way}"
        );
    }
}

fn set_mtime(path: &Path, time: SystemTime) {
    let file = fs::File::open(path).expect("open");
    file.set_modified(time).expect("set mtime");
}

#[test]
fn a_changed_library_is_never_served_old_code() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    let library = |value: u32, name: &str| {
        let source = dir.join("lib.c");
        fs::write(&source, format!("int value(void) {{ return {value}; }}\n")).expect("source");
        let args = ["-shared", "-fPIC", "-o", name, "lib.c"];
        Cmd::new("/usr/bin/gcc").args(args).cwd(dir).run_ok();
    };
    library(5, "libvalue.so");
    fs::write(
        dir.join("main.c"),
        "int value(void); int main(void) { return value(); }",
    )
    .expect("source");
    let args = [
        "-o",
        "main",
        "main.c",
        "-L.",
        "-lvalue",
        "-Wl,-rpath,$ORIGIN",
    ];
    Cmd::new("/usr/bin/gcc").args(args).cwd(dir).run_ok();
    let ppin = Ppin::new(&scratch.db());
    let old_time = SystemTime::now() - Duration::from_secs(5000);
    set_mtime(&dir.join("libvalue.so"), old_time);
    for _ in 0..3 {
        assert_eq!(
            ppin.wrap(&Cmd::new(dir.join("main"))).run().ended,
            Ended::Exit(5)
        );
    }
    library(6, "new.so");
    // In place, with the old time put back: only the bytes tell.
    fs::copy(dir.join("new.so"), dir.join("libvalue.so")).expect("overwrite");
    set_mtime(&dir.join("libvalue.so"), old_time);
    for _ in 0..3 {
        assert_eq!(
            ppin.wrap(&Cmd::new(dir.join("main"))).run().ended,
            Ended::Exit(6)
        );
    }
}
