//! Analysis routines: called by way of the VM, called directly, or in line, they see the same, and
//! programs notice nothing. What is counted by routines is counted by `tests/tools/accesses.rs`; elsewhere
//! the tool is cachesim, whose routines and state are the largest.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::tool::build;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Outcome, Ppin};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How calls are made: in line, directly, by way of the VM.
const WAYS: [&str; 3] = ["all", "-inline", "-calls"];

/// The tool, built once.
fn accesses() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let source = include_str!("../tools/accesses.rs");
    let path = BUILT.get_or_init(|| build("accesses", |_| source.into()));
    path.to_str().expect("UTF-8 path")
}

/// Runs under the tool that counts accesses by a routine; the outcome and the report.
fn simulated(optimize: &str, cmd: &Cmd, scratch: &Scratch) -> (Outcome, Value) {
    let report = scratch.path().join("report.json");
    let _ = fs::remove_file(&report);
    let path = report.to_str().expect("UTF-8 path");
    let optimize = format!("--optimize={optimize}");
    let options = ["-t", accesses(), "--format", "json", "-o", path, &optimize];
    let ppin = Ppin::new(&scratch.db()).with(&options);
    let outcome = ppin.wrap(cmd).run();
    let text = fs::read_to_string(&report)
        .unwrap_or_else(|e| panic!("no report ({e}) of {}\n{outcome:?}", cmd.shell()));
    let value = serde_json::from_str(text.trim()).unwrap_or_else(|e| panic!("{e}: {text}"));
    (outcome, value)
}

fn counts(report: &Value) -> [u64; 3] {
    ["reads", "writes", "instructions"].map(|key| {
        let count = report.get(key).and_then(Value::as_u64);
        count.unwrap_or_else(|| panic!("no {key} in {report}"))
    })
}

fn built(path: &str, variant: &str) -> Option<std::path::PathBuf> {
    Guest::load(path).build(variant)
}

#[test]
fn all_ways_count_the_same_cold_and_warm() {
    for guest in [
        "special/memory_accesses.S",
        "count/repeated.S",
        "count/calls.S",
        "count/faults.S",
    ] {
        let Some(exe) = built(guest, "nostdlib") else {
            continue;
        };
        let mut seen: Option<[u64; 3]> = None;
        for way in WAYS {
            let scratch = Scratch::new();
            for run in ["cold", "warm", "warm again"] {
                let (_, report) = simulated(way, &Cmd::new(&exe), &scratch);
                let counts = counts(&report);
                let expected = *seen.get_or_insert(counts);
                assert_eq!(counts, expected, "{guest}: {way}, {run}: {report}");
            }
        }
        assert!(seen.is_some_and(|seen| seen != [0; 3]), "{guest}");
    }
}

/// A signal between any two instructions of a call, of a body in line, or of a routine.
#[test]
fn timer_signals_do_not_lose_calls() {
    let Some(exe) = built("special/timer_count.S", "nostdlib") else {
        return;
    };
    let mut entries = 0;
    for way in &WAYS[..2] {
        let scratch = Scratch::new();
        for run in ["cold", "warm"] {
            let (outcome, report) = simulated(way, &Cmd::new(&exe), &scratch);
            let count = u64::from_le_bytes(outcome.stdout[..8].try_into().expect("eight bytes"));
            // Each round and each handler entry returns once; rounds call, entries increment.
            let [reads, writes, _] = counts(&report);
            let known = 20_000_000 + count;
            assert_eq!(
                [reads, writes],
                [known, known],
                "{way}, {run}: {count} entries"
            );
            entries += count;
        }
    }
    assert!(entries > 100, "too few signals to mean anything: {entries}");
}

/// Programs whose signals, threads, forks, sequences and code are hard to instrument.
fn behaves(path: &str) {
    let guest = Guest::load(path);
    let variant = &guest.spec.variants[0];
    let Some(exe) = guest.build(variant) else {
        return;
    };
    for run in &guest.spec.runs {
        let cmd = Cmd::new(&exe).args(&run.args);
        let native = cmd.run();
        for way in WAYS {
            let scratch = Scratch::new();
            for again in ["cold", "warm"] {
                assert_eq!(
                    under(way, &cmd, scratch.path()),
                    native,
                    "{path}: {way}, {again}"
                );
            }
        }
    }
}

fn under(optimize: &str, cmd: &Cmd, dir: &Path) -> Outcome {
    let report = dir.join("report.%p");
    let path = report.to_str().expect("UTF-8 path");
    let optimize = format!("--optimize={optimize}");
    let ppin = Ppin::new(&dir.join("db")).with(&["-t", "cachesim", "-o", path, &optimize]);
    ppin.wrap(cmd).run()
}

macro_rules! behaves {
    ($($name:ident: $path:literal)*) => {
        $(#[test] fn $name() { behaves($path); })*
    };
}

behaves! {
    registers_are_kept: "signal/registers_kept.c"
    alignment_is_checked: "insn/alignment_checked.c"
    handlers_jump_out: "signal/jump_out.c"
    handlers_nest: "signal/nested.c"
    contexts_are_edited: "signal/edit_context.c"
    timers_interrupt: "signal/timers_during_computation.c"
    threads_come_and_go: "thread/many_short.c"
    a_thread_forks: "thread/fork_from_thread.c"
    threads_are_signalled: "thread/directed_signals.c"
    the_group_exits: "thread/exit_group.c"
    sequences_count: "rseq/counters.c"
    sequences_are_interrupted: "rseq/signals.c"
}
