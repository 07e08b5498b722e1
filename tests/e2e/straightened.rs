//! Programs whose code was made anew by where their branches have led (`ppin warm --optimize`).

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::ppin::executable;
use ppin_tests::ways::{Scratch, each_call_in, keep_addresses};
use ppin_tests::{Cmd, Ppin};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

/// `ppin warm --optimize` of `cmd` on the database of `ppin`, for this tool, if one is named. How many traces
/// follow other branches then.
fn optimize(scratch: &Scratch, ppin: &Ppin, tool: Option<&str>, cmd: &Cmd) -> u64 {
    let mut words = vec!["warm", "--optimize", "--format", "json", "--db"];
    words.push(ppin.db().to_str().expect("UTF-8 path"));
    words.extend(tool.into_iter().flat_map(|tool| ["-t", tool]));
    words.push("--");
    let words: Vec<&OsStr> = words.into_iter().map(OsStr::new).collect();
    let outcome = scratch.run(&cmd.prefixed(&executable(), &words));
    let errors = outcome.errors();
    let said = errors.lines().rev();
    let said = said.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut changed = said.filter_map(|said| said["optimized"]["traces_changed"].as_u64());
    let changed = changed.next();
    // (Of what is killed, and of what leaves ppin for good, nothing is known.)
    let unknown = || errors.contains("nothing was learnt: ");
    assert!(changed.is_some() || unknown(), "{outcome:?}");
    changed.unwrap_or_default()
}

/// Runs the guests in `folder` natively, and when their code was made anew, under each of `tools`.
fn same_as_natively(folder: &str, tools: &[Option<&str>]) {
    let mut changed = 0;
    each_call_in(folder, |cmd| {
        for tool in tools {
            changed += changed_and_same(cmd, *tool);
        }
    });
    assert!(changed > 0, "{folder}");
}

fn changed_and_same(cmd: &Cmd, tool: Option<&str>) -> u64 {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let changed = optimize(&scratch, &ppin, tool, cmd);
    let options: Vec<&str> = tool
        .into_iter()
        .flat_map(|tool| ["-t", tool, "-o", "/dev/null"])
        .collect();
    let native = scratch.run(cmd);
    let wrapped = ppin.with(&options).wrap(cmd);
    let outcome = scratch.run(&wrapped);
    if outcome != native {
        let kept = scratch.keep();
        panic!(
            "{}\n(database: {kept})\n=== native\n{native:?}\n=== made anew\n{outcome:?}",
            wrapped.shell()
        );
    }
    changed
}

#[test]
fn control_flow_is_right_where_traces_follow_branches() {
    same_as_natively("flow", &[None, Some("bbcount")]);
}

#[test]
fn faults_and_signals_are_where_they_were() {
    // (Under tools that count, flags that nobody needs are other ones.)
    same_as_natively("fault", &[None]);
    same_as_natively("signal", &[None]);
}

#[test]
fn code_that_is_rewritten_is_noticed_where_traces_have_jumped_over_it() {
    same_as_natively("rewritten", &[None, Some("bbcount")]);
}

/// What tools count is the same, and what is kept is what is made today.
#[test]
fn counts_are_the_same() {
    keep_addresses();
    let exe: PathBuf = Guest::load("flow/calls.c")
        .build("static")
        .expect("static programs can be linked");
    let cmd = Cmd::new(&exe);
    for tool in ["bbcount", "icount", "opcodemix", "branches"] {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db());
        let report = scratch.path().join("report");
        let counted = || {
            let _ = fs::remove_file(&report);
            let path = report.to_str().expect("UTF-8 path");
            ppin.with(&["-t", tool, "--format", "json", "-o", path])
                .wrap(&cmd)
                .run_ok();
            let text = fs::read_to_string(&report).expect("a report");
            let text = text
                .split_once("\"program\"")
                .expect("it names it")
                .1
                .to_owned();
            text.split("\"threads\"")
                .next()
                .expect("it counts")
                .to_owned()
        };
        let before = counted();
        optimize(&scratch, &ppin, Some(tool), &cmd);
        assert_eq!(counted(), before, "{tool}");
        let db = ppin.db().to_str().expect("UTF-8 path");
        let again = ppin
            .verb(&["db", "verify", "--recompile", "--db", db])
            .run_ok();
        assert!(again.text().contains(" 0 differ"), "{}", again.text());
    }
}
