//! Programs and libraries whose code was kept without running them (`ppin warm --static`).

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::stats::Stats;
use ppin_tests::ways::{Scratch, each_call_as};
use ppin_tests::{Cmd, Ended, Outcome, Ppin};
use std::fs;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8 path")
}

/// `ppin warm --static` on the database of `ppin`.
fn warm(ppin: &Ppin, words: &[&str]) -> Outcome {
    let first = ["warm", "--static", "--db", text(ppin.db())];
    ppin.verb(&[&first, words].concat()).run()
}

fn warmed(ppin: &Ppin, words: &[&str]) {
    let outcome = warm(ppin, words);
    assert_eq!(outcome.ended, Ended::Exit(0), "{outcome:?}");
    assert_eq!(outcome.text(), "", "nothing is run");
}

fn is_what_is_made_today(ppin: &Ppin) {
    let again = ["db", "verify", "--recompile", "--db", text(ppin.db())];
    let again = ppin.verb(&again).run_ok().text();
    assert!(again.contains(" 0 differ, 0 skipped"), "{again}");
}

/// Runs the guests in `folder` natively, and with code that was kept before they ran.
fn same_as_natively(folder: &str, options: &[&str]) {
    let mut calls = 0;
    each_call_as("pie", folder, |exe, cmd| {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db());
        warmed(&ppin, &[options, &[text(exe)]].concat());
        let native = scratch.run(cmd);
        let report = options.iter().flat_map(|_| ["-o", "/dev/null"]).take(2);
        let options: Vec<&str> = options.iter().copied().chain(report).collect();
        let outcome = scratch.run(&ppin.with(&options).wrap(cmd));
        if outcome != native {
            let kept = scratch.keep();
            panic!(
                "{}\n(database: {kept})\n{native:?}\n{outcome:?}",
                cmd.shell()
            );
        }
        calls += 1;
    });
    assert!(calls > 0, "{folder}");
}

#[test]
fn control_flow_is_as_natively() {
    same_as_natively("flow", &[]);
    same_as_natively("flow", &["-t", "bbcount"]);
}

#[test]
fn faults_and_signals_are_as_natively() {
    same_as_natively("fault", &[]);
    same_as_natively("signal", &[]);
}

/// No sequence is found by running code here, but data describe them.
#[test]
fn restartable_sequences_are_as_natively() {
    same_as_natively("rseq", &[]);
}

#[test]
fn system_calls_are_as_natively() {
    same_as_natively("syscall", &[]);
    same_as_natively("memory", &[]);
}

/// Programs that rewrite what was translated before they came.
#[test]
fn rewritten_code_is_as_natively() {
    same_as_natively("rewritten", &[]);
}

/// Most of a program and of its library is there when it runs first; nothing is added by asking twice.
#[test]
fn a_first_run_finds_its_code() {
    let Some(exe) = Guest::load("flow/calls.c").build("pie") else {
        return;
    };
    let scratch = Scratch::new();
    let stats = scratch.path().join("stats");
    let compiled = |ppin: &Ppin| {
        let _ = fs::remove_file(&stats);
        let counted = ppin.with(&[&format!("--stats={}", text(&stats))]);
        counted.wrap(&Cmd::new(&exe)).run_ok();
        Stats::one(&stats).compiled()
    };
    let cold = compiled(&Ppin::new(&scratch.path().join("other")));
    let ppin = Ppin::new(&scratch.db());
    let needed = Cmd::new("ldd").args([text(&exe)]).run_ok().text();
    let needed = needed
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    let all: Vec<&str> = needed.chain([text(&exe)]).collect();
    warmed(&ppin, &all);
    is_what_is_made_today(&ppin);
    let again = warm(&ppin, &["--format", "json", text(&exe)]);
    assert!(
        again.errors().contains("\"traces_explored\":0"),
        "{again:?}"
    );
    let left = compiled(&ppin);
    assert!(left < cold / 8, "{left} of {cold}");
}

#[test]
fn what_cannot_be_loaded_is_told_and_the_rest_is_done() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let script = scratch.path().join("script");
    fs::write(&script, "#!/bin/sh\n").expect("a script");
    let fixed = Guest::load("flow/calls.c").build("static");
    let fixed = fixed.expect("static programs can be linked");
    for (path, why) in [
        ("/nowhere/at all", "/nowhere/at all: "),
        (text(scratch.path()), "no program"),
        (text(&script), "no program"),
        (text(&fixed), "statically linked"),
    ] {
        let outcome = warm(&ppin, &[path, "/bin/true"]);
        let errors = outcome.errors();
        assert_eq!(outcome.ended, Ended::Exit(1), "{errors}");
        assert!(
            errors.lines().next().is_some_and(|line| line.contains(why)),
            "{errors}"
        );
        assert!(errors.contains(" explored"), "{errors}");
    }
    for words in [&["--optimize", "/bin/true"][..], &["-c", "true"], &[]] {
        let outcome = warm(&ppin, words);
        assert_eq!(outcome.ended, Ended::Exit(2), "{words:?}: {outcome:?}");
    }
}
