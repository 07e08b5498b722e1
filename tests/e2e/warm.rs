//! `ppin warm` with several commands.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::stats::Stats;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Ppin};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn guest(name: &str) -> PathBuf {
    let exe = Guest::load(name).build("static");
    exe.expect("static programs can be linked")
}

/// `ppin warm` on the database of `ppin`.
fn warm(ppin: &Ppin, words: &[&str]) -> Cmd {
    let db = ppin.db().to_str().expect("UTF-8 path");
    ppin.verb(&[&["warm", "--db", db], words].concat())
}

fn compiled(ppin: &Ppin, exe: &Path, dir: &Path) -> u64 {
    let file = dir.join("stats");
    let _ = fs::remove_file(&file);
    let counted = ppin.with(&[&format!("--stats={}", file.display())]);
    counted.wrap(&Cmd::new(exe)).run_ok();
    Stats::one(&file).compiled()
}

/// All commands of a list are run, beside each other and without output, and are warm then; what
/// fails is named, and keeps no other from running.
#[test]
fn a_list_of_commands_is_run_and_warm_then() {
    let [one, other] = ["flow/calls.c", "flow/jump_tables.c"].map(guest);
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let list = format!(
        "# what is run at night\n{}\n\n/nowhere/to be found\n'{}'\nsh -c 'exit 3'\n",
        one.display(),
        other.display()
    );
    let file = scratch.path().join("list");
    fs::write(&file, list).expect("a list");
    let words = ["--list", file.to_str().expect("UTF-8 path"), "--jobs", "2"];
    let outcome = warm(&ppin, &words).run();
    let errors = outcome.errors();
    assert_eq!(
        (&outcome.ended, outcome.text().as_str()),
        (&Ended::Exit(1), ""),
        "{errors}"
    );
    for part in [
        "ppin: /nowhere/to be found: ",
        "ppin: sh -c exit 3: the program ended with status 3",
        "ppin: 3 processes, ",
        "ppin: now ",
    ] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    for exe in [&one, &other] {
        assert_eq!(compiled(&ppin, exe, scratch.path()), 0, "{}", exe.display());
    }
}

/// What a later run costs is measured by one; the units of an image are one then.
#[test]
fn what_is_measured_is_an_ordinary_run() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    warm(&ppin, &["-c", "sh -c 'echo a'"]).run_ok();
    // A run that adds little to much leaves it beside that, so that there are units to be merged.
    let script = "for n in 1 2; do umask; done";
    ppin.wrap(&Cmd::new("sh").args(["-c", script])).run_ok();
    let command = format!("sh -c '{script}'");
    let words = ["-c", &command, "--measure", "--format", "json"];
    let outcome = warm(&ppin, &words).run_ok();
    let learnt: Value = serde_json::from_str(&outcome.errors()).expect("an object");
    assert!(learnt["traces_explored"].as_u64() > Some(0), "{learnt}");
    let next = &learnt["next"];
    assert!(next["images"].as_u64() > Some(0), "{next}");
    assert_eq!(next["images"], next["units"], "{next}");
    assert!(next["units_merged"].as_u64() > Some(0), "{next}");
    let measured = &learnt["measured"];
    assert_eq!(measured["traces_compiled"], 0, "{measured}");
    assert!(measured["traces_reused"].as_u64() > Some(0), "{measured}");
    assert!(measured["ns_in_ppin"].as_u64() > Some(0), "{measured}");
}

/// One program keeps its input and output.
#[test]
fn a_single_program_keeps_its_streams() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let outcome = warm(&ppin, &["--", "cat"]).stdin("abc\n").run_ok();
    assert_eq!(outcome.text(), "abc\n");
}

/// Nothing runs if a command cannot be read.
#[test]
fn a_list_that_is_wrong_is_refused_as_a_whole() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let ran = scratch.path().join("ran");
    let text = format!("touch {}\nsh -c 'not closed\n", ran.display());
    let refused = |cmd: Cmd, why: &str| {
        let outcome = cmd.run();
        assert_eq!(outcome.ended, Ended::Exit(2), "{outcome:?}");
        assert_eq!(outcome.errors(), format!("ppin: {why}\n"));
    };
    refused(
        warm(&ppin, &["--list", "-"]).stdin(text),
        "-:2: a quote is not closed",
    );
    refused(
        warm(&ppin, &["--list", "-"]).stdin("# nothing\n"),
        "-: there are no commands",
    );
    refused(warm(&ppin, &["-c", " "]), "--command: there is no command");
    let nowhere = warm(&ppin, &["--list", "/nowhere/list"]).run();
    assert_eq!(nowhere.ended, Ended::Exit(2));
    let why = "ppin: the list /nowhere/list cannot be read: ";
    assert!(nowhere.errors().starts_with(why), "{nowhere:?}");
    assert!(!ran.exists());
}
