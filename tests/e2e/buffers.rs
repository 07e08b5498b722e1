//! Records that code appends in line: one for each access that is reached, with the values of its
//! moment, also where signals, faults and full buffers come in between.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Outcome, Ppin};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Options of the ways in which records are appended: cold, warm, with a cache that is always
/// full, and by calls of the VM.
const WAYS: [&[&str]; 4] = [
    &[],
    &[],
    &["--engine-option", "cache-limit=192K"],
    &["--optimize=-buffers"],
];

/// Runs `cmd` under memtrace; the outcome and the trace.
fn traced(scratch: &Scratch, options: &[&str], cmd: &Cmd) -> (Outcome, PathBuf) {
    let trace = scratch.path().join("trace");
    let _ = fs::remove_file(&trace);
    let knob = format!("file={}", trace.to_str().expect("UTF-8 path"));
    let ppin = Ppin::new(&scratch.db()).with(options);
    let ppin = ppin.with(&["-t", "memtrace", "--knob", &knob, "-o", "/dev/null"]);
    (ppin.wrap(cmd).run(), trace)
}

/// A binary trace as lines, without those that name threads.
fn lines(scratch: &Scratch, trace: &Path) -> Vec<String> {
    let path = trace.to_str().expect("UTF-8 path");
    let ppin = Ppin::new(&scratch.db());
    let text = ppin.verb(&["tool", "memtrace-print", path]).run_ok().text();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// `line` without an address on the stack, which is another one in each run.
fn without_stack(line: &str) -> String {
    let words = line.split_whitespace();
    let words = words.map(|word| {
        if word.starts_with("0x7ff") {
            "stack"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Code in line tells what the VM tells when it is called for each access.
#[test]
fn all_ways_tell_the_same() {
    for path in [
        "count/branches.S",
        "count/calls.S",
        "count/faults.S",
        "count/long_block.S",
        "count/repeated.S",
        "count/sent_signals.S",
        "special/memory_accesses.S",
    ] {
        let Some(exe) = Guest::load(path).build("nostdlib") else {
            continue;
        };
        let scratch = Scratch::new();
        let all = WAYS.map(|options| {
            let (_, trace) = traced(&scratch, options, &Cmd::new(&exe));
            let lines = lines(&scratch, &trace);
            lines
                .iter()
                .map(|line| without_stack(line))
                .collect::<Vec<_>>()
        });
        for (way, found) in all.iter().enumerate() {
            let differs = found.iter().zip(&all[0]).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{path}: way {way}");
            assert_eq!(found.len(), all[0].len(), "{path}: way {way}");
        }
    }
}

/// One access that faults a hundred times is told each time; the handler makes three (one of them
/// reads and writes).
#[test]
fn accesses_that_fault_are_told() {
    let Some(exe) = Guest::load("count/faults.S").build("nostdlib") else {
        return;
    };
    let scratch = Scratch::new();
    for options in WAYS {
        let (_, trace) = traced(&scratch, options, &Cmd::new(&exe));
        let lines = lines(&scratch, &trace);
        let faults = lines.iter().filter(|line| line.ends_with(": R 0x8 4"));
        assert_eq!((faults.count(), lines.len()), (100, 400), "{options:?}");
    }
}

/// A signal at any instruction of a block, whose handler appends records of its own.
#[test]
fn timer_signals_lose_and_change_no_record() {
    let Some(exe) = Guest::load("special/timer_records.S").build("nostdlib") else {
        return;
    };
    let scratch = Scratch::new();
    let mut entries = 0;
    for options in &WAYS[..3] {
        let (outcome, trace) = traced(&scratch, options, &Cmd::new(&exe));
        let bytes = outcome.stdout.first_chunk();
        let count =
            u64::from_le_bytes(*bytes.unwrap_or_else(|| panic!("{options:?}: {outcome:?}")));
        entries += count;
        check_rounds(&lines(&scratch, &trace), count);
    }
    assert!(entries > 30, "too few signals to mean anything: {entries}");
}

/// The seven accesses of each round come in their order, always at their own addresses.
fn check_rounds(lines: &[String], entries: u64) {
    const ROUNDS: usize = 1_000_000;
    let mut times = BTreeMap::<&str, usize>::new();
    for line in lines {
        let (pc, _) = line.split_once(": ").expect("an access");
        *times.entry(pc).or_default() += 1;
    }
    let of_loop: Vec<&str> = times
        .iter()
        .filter(|(_, count)| **count == ROUNDS)
        .map(|(pc, _)| *pc)
        .collect();
    assert_eq!(of_loop.len(), 7, "{times:?}");
    // (One that reads and writes has two lines.)
    assert_eq!(lines.len() as u64, 7 * ROUNDS as u64 + 5 * entries);
    let rounds = lines.iter().filter(|line| {
        let (pc, _) = line.split_once(": ").expect("an access");
        of_loop.contains(&pc)
    });
    let rounds: Vec<&String> = rounds.collect();
    let first: Vec<&String> = rounds[..7].to_vec();
    for round in rounds.chunks_exact(7) {
        assert_eq!(round, first);
    }
}

/// Threads and forked children: each has its own records, in files that can be read.
#[test]
fn threads_and_children_have_their_own() {
    for (path, variant) in [
        ("thread/many_short.c", "static"),
        ("process/fork_and_output.c", "pie"),
    ] {
        let Some(exe) = Guest::load(path).build(variant) else {
            continue;
        };
        let scratch = Scratch::new();
        let native = Cmd::new(&exe).run();
        for options in &WAYS[..3] {
            let (outcome, trace) = traced(&scratch, options, &Cmd::new(&exe));
            assert_eq!(outcome, native, "{path}, {options:?}");
            assert!(lines(&scratch, &trace).len() > 1000, "{path}");
        }
    }
}
