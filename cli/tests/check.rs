//! `ppin run --check`: the engine against single-stepping.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compares `words`: the status, the program's output, and what ppin said.
fn check(words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ppin"));
    command
        .args(["run", "--check"])
        .args(words)
        .stdin(Stdio::null());
    let out = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        out.status.code().unwrap_or(-1),
        text(&out.stdout),
        text(&out.stderr),
    )
}

/// Builds a guest; `None`, said so, where there is no compiler for it.
fn build(folder: &Path, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/guests")
        .join(source);
    let guest = folder.join("guest");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-o"]).arg(&guest).args(flags).arg(&source);
    if !gcc.status().is_ok_and(|status| status.success()) {
        eprintln!(
            "skipped: gcc cannot build {} with {flags:?}",
            source.display()
        );
        return None;
    }
    Some(guest)
}

fn same(words: &[&str]) -> String {
    let (status, out, said) = check(words);
    assert_eq!(status, 0, "{words:?}: {said}");
    assert!(said.contains("the same: "), "{said}");
    out
}

#[test]
fn a_program_without_libc_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let Some(guest) = build(folder.path(), "straight.s", &["-nostdlib", "-static"]) else {
        return;
    };
    for tool in ["null", "icount", "bbcount"] {
        assert_eq!(same(&["-t", tool, "--", guest.to_str().unwrap()]), "done\n");
    }
}

#[test]
fn signals_times_and_process_ids_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [&["-static"][..], &[]] {
        if let Some(guest) = build(folder.path(), "signals.c", flags) {
            assert!(same(&["--", guest.to_str().unwrap()]).starts_with("50 "));
        }
    }
}

#[test]
fn a_dynamic_program_is_the_same() {
    same(&["--", "/bin/true"]);
}

#[test]
fn what_happens_differently_is_found() {
    let folder = tempfile::tempdir().unwrap();
    // The second process to come finds the file.
    let script = format!("set -C; : > {}/file", folder.path().display());
    let (status, _, said) = check(&["--", "/bin/sh", "-c", &script]);
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("NOT the same: at 0x") && said.contains("rax"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_compared_is_said() {
    let (status, _, said) = check(&["--", "/bin/sh", "-c", "exec /bin/true"]);
    assert_eq!(status, 125, "{said}");
    assert!(said.contains("has executed another one"), "{said}");
    assert_eq!(check(&["--", "/nonexistent"]).0, 127);
}
