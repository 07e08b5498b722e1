//! Routines whose results become the values of registers. The tool is `tests/tools/changer.rs`,
//! loaded by its path.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::tool::build;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Ppin};
use serde_json::Value;
use std::fs;

/// The program finds what the tool has put there, however the routine is called, and nobody else finds
/// anything changed. An instruction that faults does so with what was put there.
#[test]
fn results_are_found_in_registers_cold_and_warm_and_in_a_tiny_cache() {
    let tool = build("changer", |_| include_str!("../tools/changer.rs").into());
    let tool = tool.to_str().expect("UTF-8 path");
    let guest = Guest::load("special/changed_registers.c");
    for variant in &guest.spec.variants {
        let Some(exe) = guest.build(variant) else {
            continue;
        };
        let cmd = Cmd::new(&exe);
        assert_eq!(cmd.run().ended, Ended::Exit(2), "natively");
        for way in ["all", "-calls"] {
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
                let counts = ["redirected", "spoilt", "hidden"].map(|key| report[key].as_u64());
                assert_eq!(counts, [Some(78_001), Some(3), Some(18_001)], "{here}");
            }
        }
    }
}
