//! Routines whose results become values of registers or memory, or say where to go on. The tools are
//! those of `tests/tools`, loaded by their paths.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::tool::build;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Ppin};
use serde_json::Value;
use std::fs;

/// Runs the guest with the tool of this source, called and in every way, cold and warm and in a tiny
/// cache: natively it ends with 2, under the tool with 0, and the report has the numbers `counts`.
fn every_way(tool: &str, source: &str, guest: &str, counts: &[(&str, u64)]) {
    let tool = build(tool, |_| source.into());
    let tool = tool.to_str().expect("UTF-8 path");
    let guest = Guest::load(guest);
    for variant in &guest.spec.variants {
        let Some(exe) = guest.build(variant) else {
            continue;
        };
        let cmd = Cmd::new(&exe);
        assert_eq!(cmd.run().ended, Ended::Exit(2), "natively");
        for way in ["all", "-calls", "-indirect"] {
            let scratch = Scratch::new();
            let report = scratch.path().join("report.json");
            let path = report.to_str().expect("UTF-8 path");
            let way = format!("--optimize={way}");
            let options = ["-t", tool, "--format", "json", "-o", path, &way];
            let ppin = Ppin::new(&scratch.db()).with(&options);
            let tiny = ppin.with(&["--engine-option", "cache-limit=192K"]);
            for (run, ppin) in [("cold", &ppin), ("warm", &ppin), ("tiny", &tiny)] {
                let outcome = ppin.wrap(&cmd).run();
                let here = format!("{variant}, {way}, {run}: {outcome:?}");
                assert_eq!(
                    (&outcome.ended, outcome.text().as_str()),
                    (&Ended::Exit(0), "ok\n"),
                    "{here}"
                );
                let text = fs::read_to_string(&report).expect("a report");
                fs::remove_file(&report).expect("a report");
                let report: Value = serde_json::from_str(text.trim()).expect("JSON");
                for (key, count) in counts {
                    assert_eq!(report[key].as_u64(), Some(*count), "{key}: {here}");
                }
            }
        }
    }
}

/// The program finds what the tool has put there, however the routine is called, and nobody else finds
/// anything changed. An instruction that faults does so with what was put there.
#[test]
fn results_are_found_in_registers_cold_and_warm_and_in_a_tiny_cache() {
    every_way(
        "changer",
        include_str!("../tools/changer.rs"),
        "special/changed_registers.c",
        &[("redirected", 78_001), ("spoilt", 3), ("hidden", 18_001)],
    );
}

/// The program finds what was stored, and has its faults where it may not write. Code that is changed so
/// is executed as it is then.
#[test]
fn results_are_found_in_memory_cold_and_warm_and_in_a_tiny_cache() {
    // Rounds of main and of threads.
    const ROUNDS: u64 = 40_000 + 3 * 4_000;
    every_way(
        "storer",
        include_str!("../tools/storer.rs"),
        "special/changed_memory.c",
        &[("before", ROUNDS + 4), ("behind", ROUNDS + 5)],
    );
}

/// The program goes on where a routine says, with all of its registers and flags, and what it has not
/// executed is not counted. Where nothing is, it faults there.
#[test]
fn a_program_is_led_away_and_counts_stay_exact() {
    // Rounds of main, before the timer, and of threads.
    const ROUNDS: u64 = 40_000 + 1 + 3 * 4_000;
    every_way(
        "jumper",
        include_str!("../tools/jumper.rs"),
        "special/led_away.c",
        &[
            ("left_out", ROUNDS),
            ("elsewhere", ROUNDS),
            ("behind", 2 * ROUNDS),
            ("following", 2 * ROUNDS + 1),
        ],
    );
}
