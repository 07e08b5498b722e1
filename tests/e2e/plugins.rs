//! Tools as objects: found by path, several at once, refused in words, replaced and edited while
//! code is kept under others.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::stats::Stats;
use ppin_tests::tool::build;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Outcome, Ppin};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A program that does the same at every run.
fn program() -> Option<Cmd> {
    let exe = Guest::load("count/branches.S").build("nostdlib")?;
    Some(Cmd::new(exe))
}

/// The tool as it stands in the template, built once; a copy of its object in `scratch`.
fn counter(scratch: &Scratch) -> PathBuf {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    let bytes = BUILT.get_or_init(|| fs::read(build("counter", |text| text)).unwrap());
    written(scratch, "counter.so", bytes)
}

fn written(scratch: &Scratch, name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A run under tools: its reports, as JSON lines, and its statistics.
struct Run {
    outcome: Outcome,
    reports: Vec<String>,
    stats: Vec<Stats>,
}

fn run(scratch: &Scratch, tools: &[&str], cmd: &Cmd) -> Run {
    let [report, stats] = ["report", "stats"].map(|name| scratch.path().join(name));
    let _ = (fs::remove_file(&report), fs::remove_file(&stats));
    let stats_option = format!("--stats={}", stats.display());
    let mut options = vec!["--format", "json", "-o", text(&report), &stats_option];
    for tool in tools {
        // A word that begins with a dash is an option with its value.
        options.extend(match tool.split_once(' ') {
            Some((option, value)) => [option, value],
            None => ["-t", tool],
        });
    }
    let outcome = Ppin::new(&scratch.db()).with(&options).wrap(cmd).run();
    let reports = fs::read_to_string(&report).unwrap_or_default();
    Run {
        outcome,
        reports: reports.lines().map(without_ids).collect(),
        stats: if stats.exists() {
            Stats::read(&stats)
        } else {
            Vec::new()
        },
    }
}

/// A report without the number of its process, which differs from run to run.
fn without_ids(line: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
    value["process"] = 0.into();
    if let Some(threads) = value["threads"].as_array_mut() {
        threads
            .iter_mut()
            .for_each(|thread| thread["tid"] = 0.into());
    }
    value.to_string()
}

/// Compiled by the first process of the run.
fn compiled(run: &Run) -> u64 {
    run.stats[0].compiled()
}

fn assert_success(run: &Run) {
    assert_eq!(run.outcome.errors(), "");
}

#[test]
fn a_new_tool_is_built_and_run_by_its_path() {
    let Some(cmd) = program() else { return };
    let scratch = Scratch::new();
    let tool = counter(&scratch);
    let cold = run(&scratch, &[text(&tool)], &cmd);
    assert_success(&cold);
    let warm = run(&scratch, &[text(&tool)], &cmd);
    assert_eq!((&cold.reports, cold.reports.len()), (&warm.reports, 1));
    assert!(compiled(&cold) > 0 && compiled(&warm) == 0);
    // Its knob changes what it inserts: other code, fewer branches.
    let knob = "--knob backward-only=on";
    let backward = run(&scratch, &[text(&tool), knob], &cmd);
    assert!(compiled(&backward) > 0);
    assert_ne!(backward.reports, cold.reports);
    let relative = cmd.clone().cwd(scratch.path());
    let relative = run(&scratch, &["./counter.so"], &relative);
    assert_eq!((&relative.reports, compiled(&relative)), (&cold.reports, 0));
}

#[test]
fn a_tool_explains_itself_without_being_run() {
    let scratch = Scratch::new();
    let mut bytes = fs::read(counter(&scratch)).unwrap();
    let at = find(&bytes, b"counts conditional branches");
    bytes[at] = b'C';
    let tool = written(&scratch, "edited.so", &bytes);
    let ppin = Ppin::new(&scratch.db());
    let doc = ppin.verb(&["tool", "doc", text(&tool)]).run_ok().text();
    assert!(doc.starts_with("counter: Counts conditional"), "{doc}");
    assert!(doc.contains("--knob backward-only=off"), "{doc}");
    let none = ppin.verb(&["tool", "doc", "./none"]).run();
    assert_eq!(none.ended, Ended::Exit(2));
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    let mut windows = bytes.windows(what.len());
    windows.position(|window| window == what).unwrap()
}

#[test]
fn an_edited_tool_leaves_the_code_of_others_warm() {
    let Some(cmd) = program() else { return };
    let scratch = Scratch::new();
    let tool = counter(&scratch);
    let before = fs::read(&tool).unwrap();
    for tools in [vec![], vec!["icount"], vec![text(&tool)]] {
        assert!(compiled(&run(&scratch, &tools, &cmd)) > 0, "{tools:?}");
    }
    let mut edited = before.clone();
    edited[find(&before, b"counts conditional")] = b'C';
    fs::write(&tool, &edited).unwrap();
    assert!(compiled(&run(&scratch, &[text(&tool)], &cmd)) > 0);
    for tools in [vec![], vec!["null"], vec!["icount"], vec![text(&tool)]] {
        assert_eq!(compiled(&run(&scratch, &tools, &cmd)), 0, "{tools:?}");
    }
    // The key holds the bytes of the tool, not its path.
    let elsewhere = written(&scratch, "elsewhere.so", &before);
    assert_eq!(compiled(&run(&scratch, &[text(&elsewhere)], &cmd)), 0);
}

#[test]
fn several_tools_count_as_each_of_them_alone() {
    let Some(cmd) = program() else { return };
    let scratch = Scratch::new();
    let tool = counter(&scratch);
    let trace = format!(
        "--knob memtrace:file={}",
        text(&scratch.path().join("trace"))
    );
    let all = [
        "icount",
        text(&tool),
        "opcodemix",
        "bbcount",
        "memtrace",
        &trace,
        "--knob backward-only=on",
    ];
    let cold = run(&scratch, &all, &cmd);
    assert_success(&cold);
    let warm = run(&scratch, &all, &cmd);
    assert_eq!(cold.reports, warm.reports);
    assert_eq!((cold.reports.len(), compiled(&warm)), (5, 0));
    for (n, tools) in [
        vec!["icount"],
        vec![text(&tool), "--knob counter:backward-only=on"],
        vec!["opcodemix"],
        vec!["bbcount"],
        vec!["memtrace", &trace],
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(
            run(&scratch, tools, &cmd).reports,
            [cold.reports[n].clone()]
        );
    }
    let other_order = run(&scratch, &["bbcount", "icount"], &cmd);
    let want = [cold.reports[3].clone(), cold.reports[0].clone()];
    assert_eq!(other_order.reports, want);
}

#[test]
fn a_file_that_is_no_tool_is_refused_before_the_program_starts() {
    let scratch = Scratch::new();
    let good = fs::read(counter(&scratch)).unwrap();
    let door = find(&good, b"ppintool");
    let mut version = good.clone();
    version[door + 8] += 1;
    let mut opcodes = good.clone();
    opcodes[door + 16] ^= 1;
    let program = fs::read("/bin/true").unwrap();
    let cases: [(&str, &[u8], &str); 6] = [
        ("version", &version, "build it again"),
        ("opcodes", &opcodes, "another list of opcodes"),
        (
            "torn",
            &good[..good.len() / 2],
            "shorter than its headers say",
        ),
        ("empty", b"", "not an ELF object"),
        ("script", b"#!/bin/sh\n", "not an ELF object"),
        ("program", &program, "not a shared object"),
    ];
    for (name, bytes, why) in cases {
        let path = written(&scratch, name, bytes);
        check_refused(&scratch, text(&path), why);
    }
    let open = written(&scratch, "open", &good);
    fs::set_permissions(&open, fs::Permissions::from_mode(0o666)).unwrap();
    check_refused(&scratch, text(&open), "anybody may write to it");
    check_refused(&scratch, "/nonexistent/tool.so", "No such file");
    check_refused(&scratch, text(scratch.path()), "not a regular file");
    check_refused(&scratch, "counter", "there is no tool counter");
    let twice = ["icount", "bbcount", "--knob top=1"];
    let run = run(&scratch, &twice, &echo());
    assert!(
        run.outcome
            .errors()
            .contains("none of the tools has a knob top")
    );
}

/// A program of which one sees whether it has begun.
fn echo() -> Cmd {
    Cmd::new("/bin/echo").args(["begun"])
}

fn check_refused(scratch: &Scratch, tool: &str, why: &str) {
    let outcome = run(scratch, &["icount", tool], &echo()).outcome;
    let said = outcome.errors();
    assert_eq!(outcome.ended, Ended::Exit(125), "{said}");
    assert_eq!(outcome.text(), "");
    assert!(said.starts_with("ppin: ") && said.contains(why), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn followed_children_run_the_same_tools() {
    let scratch = Scratch::new();
    let tool = counter(&scratch);
    let script = "/bin/true; (exec /bin/true); cd /; exec /bin/true";
    let cmd = Cmd::new("/bin/sh").args(["-c", script]).cwd(scratch.path());
    let all = run(
        &scratch,
        &["./counter.so", "bbcount", "--knob 1:backward-only=on"],
        &cmd,
    );
    assert_success(&all);
    assert_eq!(text(&tool), text(&scratch.path().join("counter.so")));
    let count = |name: &str| {
        all.reports
            .iter()
            .filter(|line| line.contains(name))
            .count()
    };
    // The shell's image reports before it is replaced; so do its forked children, if any.
    assert_eq!(count("\"tool\":\"counter\""), count("\"tool\":\"bbcount\""));
    assert!(count("/true") >= 6, "{:?}", all.reports);
}

#[test]
fn a_tool_that_is_replaced_during_a_run_ends_the_next_program_in_words() {
    let scratch = Scratch::new();
    let tool = counter(&scratch);
    let original = fs::read(&tool).unwrap();
    let mut other = original.clone();
    other[find(&original, b"counts conditional")] = b'C';
    written(&scratch, "other.so", &other);
    // In place: the shell itself runs with the tool that is written over.
    let script = "cp other.so counter.so; /bin/true; echo ended with $?";
    let cmd = Cmd::new("/bin/sh").args(["-c", script]).cwd(scratch.path());
    let replaced = run(&scratch, &["./counter.so"], &cmd);
    assert_eq!(replaced.outcome.text(), "ended with 125\n");
    let said = replaced.outcome.errors();
    assert!(
        said.contains("it has changed since the run was started"),
        "{said}"
    );
    // No code of the one tool is kept under the key of the other.
    let shell = Cmd::new("/bin/sh").args(["-c", ":"]).cwd(scratch.path());
    let with_other = run(&scratch, &["./counter.so"], &shell);
    assert!(compiled(&with_other) > 100);
    fs::write(&tool, &original).unwrap();
    let with_first = run(&scratch, &["./counter.so"], &shell);
    assert!(with_first.stats[0].is_warm(), "{:?}", with_first.stats);
    assert_eq!(with_first.reports.len(), 1);
}

#[test]
fn code_of_a_tool_by_path_is_made_again_or_skipped_with_the_reason() {
    let Some(cmd) = program() else { return };
    let scratch = Scratch::new();
    let tool = counter(&scratch);
    let _ = run(
        &scratch,
        &[text(&tool), "icount", "--knob backward-only=on"],
        &cmd,
    );
    let db = scratch.db().display().to_string();
    let ppin = Ppin::new(&scratch.db());
    let again = || {
        ppin.verb(&["db", "verify", "--recompile", "--db", &db])
            .run_ok()
            .text()
    };
    let same = again();
    assert!(
        same.contains("0 differ, 0 skipped") && !same.contains(" 0 traces"),
        "{same}"
    );
    let list = ppin.verb(&["db", "list", "--db", &db]).run_ok().text();
    assert!(
        list.contains("counter.so (") && list.contains("backward-only=on + icount"),
        "{list}"
    );
    fs::remove_file(&tool).unwrap();
    let skipped = again();
    assert!(
        skipped.contains("cannot load the tool") && skipped.contains("No such"),
        "{skipped}"
    );
}

#[test]
fn a_tool_that_panics_ends_the_program_in_words() {
    let scratch = Scratch::new();
    let broken = build("broken", |text| {
        let start = "    fn start(&self, _: &dyn Host) { panic!(\"as {} as this\", text()); }\n";
        let text = text.replace(
            "    fn global_counters",
            &format!("{start}    fn global_counters"),
        );
        text + "fn text() -> String { alloc::format!(\"{}\", 1.5) }\nextern crate alloc;\n"
    });
    let outcome = run(&scratch, &[text(&broken)], &echo()).outcome;
    let said = outcome.errors();
    assert_eq!(outcome.ended, Ended::Exit(125), "{said}");
    assert_eq!(outcome.text(), "");
    assert!(
        said.contains("the tool failed: as 1.5 as this (src/lib.rs:"),
        "{said}"
    );
    assert!(said.contains("to repeat: ppin run -t "), "{said}");
}

#[test]
fn no_descriptor_of_a_tool_is_left_to_the_program() {
    let scratch = Scratch::new();
    let tool = counter(&scratch);
    let cmd = Cmd::new("/bin/ls").args(["/proc/self/fd"]);
    let native = cmd.run_ok().text();
    for tools in [
        vec![],
        vec!["icount"],
        vec![text(&tool), "memtrace", "--knob file=/dev/null"],
    ] {
        let run = run(&scratch, &tools, &cmd);
        assert_eq!(run.outcome.text(), native, "{tools:?}");
    }
}
