//! Routines that decide: in line, called and by way of the VM they decide the same, and what they
//! decide about is called just then. The tool is `tests/tools/sampler.rs`, loaded by its path.

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
const EVERY: u64 = 1_000;
const TINY: &[&str] = &["--engine-option", "cache-limit=192K"];

fn sampler() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let source = include_str!("../tools/sampler.rs");
    BUILT.get_or_init(|| build("sampler", |_| source.into()))
}

/// A run under the tool: its outcome, and what each of its processes reports.
fn sampled(way: &str, more: &[&str], cmd: &Cmd, scratch: &Scratch) -> (Outcome, Vec<Value>) {
    let report = scratch.path().join("report.json");
    let _ = fs::remove_file(&report);
    let way = format!("--optimize={way}");
    let [tool, path] = [sampler(), &report].map(|path| path.to_str().expect("UTF-8"));
    let options = [&["-t", tool, "--format", "json", "-o", path, &way], more].concat();
    let outcome = Ppin::new(&scratch.db()).with(&options).wrap(cmd).run();
    let text = fs::read_to_string(&report).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (outcome, lines.collect())
}

fn number(report: &Value, key: &str) -> u64 {
    let number = report.get(key).and_then(Value::as_u64);
    number.unwrap_or_else(|| panic!("no {key} in {report}"))
}

/// What a program does to its own instructions.
#[derive(Clone, Copy, PartialEq)]
enum Breaks {
    /// All that begin also end.
    None,
    /// Some fault: they are looked at, but they have not been executed.
    Faults,
    /// Some are in sequences which the kernel aborts between a call, a count and the instruction.
    Aborts,
}

/// Each instruction was looked at, and each 1,000th was acted at, once.
fn holds_together(report: &Value, breaks: Breaks) {
    let [executed, since, samples, hosted] =
        ["executed", "since", "samples", "hosted"].map(|key| number(report, key));
    let looked_at = EVERY * samples + since;
    let right = match breaks {
        Breaks::None => executed == looked_at && samples == hosted,
        Breaks::Faults => executed <= looked_at && samples == hosted,
        Breaks::Aborts => looked_at > 0 && hosted.abs_diff(samples) < 10,
    };
    assert!(right, "{report}");
}

#[test]
fn all_ways_decide_the_same_cold_and_warm_and_in_a_tiny_cache() {
    for (guest, breaks) in [
        ("count/branches.S", Breaks::None),
        ("count/calls.S", Breaks::None),
        ("count/repeated.S", Breaks::None),
        ("count/faults.S", Breaks::Faults),
        ("special/predicates.S", Breaks::None),
    ] {
        let Some(exe) = Guest::load(guest).build("nostdlib") else {
            continue;
        };
        let cmd = Cmd::new(&exe);
        let native = cmd.run();
        let mut seen: Option<Value> = None;
        for way in WAYS {
            let scratch = Scratch::new();
            for (run, more) in [("cold", &[][..]), ("warm", &[]), ("tiny", TINY)] {
                let (outcome, mut reports) = sampled(way, more, &cmd, &scratch);
                assert_eq!(outcome, native, "{guest}: {way}, {run}");
                let mut report = reports.remove(0);
                holds_together(&report, breaks);
                report["process"] = 0.into();
                if let Some(threads) = report["threads"].as_array_mut() {
                    threads
                        .iter_mut()
                        .for_each(|thread| thread["tid"] = 0.into());
                }
                let first = seen.get_or_insert_with(|| report.clone());
                assert_eq!(report, *first, "{guest}: {way}, {run}");
            }
        }
        let Some(seen) = seen else { continue };
        let [samples, met, worked] = ["samples", "met", "worked"].map(|key| number(&seen, key));
        match guest {
            "special/predicates.S" => assert_eq!([met, worked], [12_000, 4_500]),
            "count/repeated.S" => assert_eq!([met, worked], [150, 100]),
            "count/calls.S" => assert!(samples > 0, "too short"),
            _ => {}
        }
    }
}

/// A signal at any instruction of what decides, and of what is decided about.
#[test]
fn timer_signals_lose_no_decision() {
    let Some(exe) = Guest::load("special/timer_count.S").build("nostdlib") else {
        return;
    };
    for way in &WAYS[..2] {
        let scratch = Scratch::new();
        for run in ["cold", "warm"] {
            let (outcome, reports) = sampled(way, &[], &Cmd::new(&exe), &scratch);
            let entries = u64::from_le_bytes(outcome.stdout[..8].try_into().expect("eight bytes"));
            assert!(entries > 20, "{way}, {run}: {entries} entries");
            holds_together(&reports[0], Breaks::None);
        }
    }
}

/// A long sequence commits only if it is not interrupted: less is looked at there.
const MEMORY_ONLY: &[&str] = &["--knob", "memory-only=on"];

/// Programs whose signals, threads, forks and sequences are hard to instrument.
fn behaves(path: &str, more: &[&str], breaks: Breaks) {
    let guest = Guest::load(path);
    let Some(exe) = guest.build(&guest.spec.variants[0]) else {
        return;
    };
    for run in &guest.spec.runs {
        let cmd = Cmd::new(&exe).args(&run.args);
        let native = cmd.run();
        for way in WAYS {
            let scratch = Scratch::new();
            for again in ["cold", "warm"] {
                let (outcome, reports) = sampled(way, more, &cmd, &scratch);
                assert_eq!(outcome, native, "{path}: {way}, {again}");
                assert!(!reports.is_empty(), "{path}: {way}, {again}");
                reports
                    .iter()
                    .for_each(|report| holds_together(report, breaks));
            }
        }
    }
}

#[test]
fn registers_are_kept() {
    behaves("signal/registers_kept.c", &[], Breaks::Faults);
}

#[test]
fn sequences_decide() {
    behaves("rseq/built_at_run_time.c", MEMORY_ONLY, Breaks::Aborts);
    behaves("rseq/shapes.c", MEMORY_ONLY, Breaks::Aborts);
}

#[test]
fn threads_decide_for_themselves() {
    behaves("thread/many_short.c", &[], Breaks::None);
}
