//! `ppin run --check`: the engine against single-stepping.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compares `words`: the status, the program's output, and what ppin said.
fn check(words: &[&str]) -> (i32, String, String) {
    run(&[&["--check"], words].concat())
}

fn run(words: &[&str]) -> (i32, String, String) {
    run_in(Path::new("."), words)
}

fn run_in(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ppin"));
    command
        .arg("run")
        .args(words)
        .current_dir(folder)
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

/// Runs `words` with samples taken: the status, the output, what ppin said, and the
/// figures of its first process.
fn sampled(folder: &Path, words: &[&str]) -> (i32, String, String, serde_json::Value) {
    let stats = folder.join("stats");
    let _ = std::fs::remove_file(&stats);
    let (stats_option, db) = (format!("--stats={}", stats.display()), folder.join("db"));
    let options = [
        &*stats_option,
        "--db",
        db.to_str().unwrap(),
        "-o",
        "/dev/null",
    ];
    let (status, out, said) = run_in(folder, &[&options, words].concat());
    let lines = std::fs::read_to_string(&stats).unwrap_or_default();
    let first = lines.lines().next().unwrap_or("null");
    (status, out, said, serde_json::from_str(first).unwrap())
}

#[test]
fn samples_of_fresh_and_of_kept_code_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let Some(guest) = build(folder.path(), "signals.c", &[]) else {
        return;
    };
    let mut instructions = 0;
    for tool in ["null", "bbcount", "memtrace"] {
        for _ in 0..2 {
            let words = [
                "--check=sample:800",
                "-t",
                tool,
                "--",
                guest.to_str().unwrap(),
            ];
            let (status, out, said, stats) = sampled(folder.path(), &words);
            assert!(status == 3 && out.starts_with("50 "), "{status} {said}");
            let figure = |name: &str| stats["check"][name].as_u64().unwrap();
            // How many there are, and how long, is a matter of chance.
            assert!(figure("equal") > 0, "{stats}");
            assert_eq!(figure("equal") + figure("skipped"), figure("sampled"));
            instructions += figure("instructions");
        }
    }
    assert!(instructions > 100, "{instructions}");
}

#[test]
fn samples_without_a_number_are_taken_as_time_allows() {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, said, stats) = sampled(
        folder.path(),
        &["--check=sample", "--", "/bin/ls", "/usr/bin"],
    );
    assert_eq!(status, 0, "{said}");
    assert!(stats["check"]["sampled"].as_u64().unwrap() > 0, "{stats}");
}

#[test]
fn a_sample_finds_code_that_is_not_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let Some(guest) = build(folder.path(), "poked.c", &[]) else {
        return;
    };
    let native = Command::new(&guest).output().unwrap();
    if !native.stdout.starts_with(b"0 ") {
        eprintln!("skipped: the memory of other processes cannot be written to here");
        return;
    }
    let words = ["--check=sample:100", "--", guest.to_str().unwrap()];
    let (status, _, said, _) = sampled(folder.path(), &words);
    assert_eq!(status, 125, "{said}");
    for part in [
        "NOT the same",
        "rax is 0x",
        "/guest+0x",
        "to repeat: ppin run",
        "--check=sample:100",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_wrong_way_to_check_is_refused() {
    for word in ["--check=sample:0", "--check=all"] {
        assert_eq!(run(&[word, "--", "/bin/true"]).0, 125);
    }
    assert_eq!(run(&["--check", "--stats", "--", "/bin/true"]).0, 125);
}
