//! `ppin detach`: the program goes on natively, and nothing is lost.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::stats::Stats;
use ppin_tests::talk::Talk;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ended, Ppin};
use std::fs;

fn detach(ppin: &Ppin, pid: &str) -> (Ended, String) {
    let outcome = ppin.verb(&["detach", pid]).run();
    (outcome.ended, outcome.errors())
}

#[test]
fn a_program_goes_on_natively_and_its_tool_has_reported() {
    let alone =
        Cmd::new("bash").args(["-c", "while read -r word; do echo got $word; done; echo ok"]);
    let guest = Guest::load("thread/answers.c").build("pie");
    let with_threads = guest.map(Cmd::new);
    // (Beside other threads the runtime's memory stays, unused.)
    let programs = [(Some(alone), true), (with_threads, false)];
    for (program, unmaps) in programs {
        let Some(program) = program else {
            continue;
        };
        let scratch = Scratch::new();
        let (report, stats) = (scratch.path().join("report"), scratch.path().join("stats"));
        let text = |path: &std::path::Path| path.to_str().expect("plain text").to_owned();
        let stats_to = format!("--stats={}", text(&stats));
        let ppin = Ppin::new(&scratch.db());
        let counting = ppin.with(&["-t", "icount", "-o", &text(&report), &stats_to]);
        let mut run = Talk::start(&counting.wrap(&program));
        assert_eq!(run.says("one"), "got one\n");
        assert!(run.is_under_ppin());
        assert_eq!(detach(&ppin, &run.pid()), (Ended::Exit(0), String::new()));
        assert!(!unmaps || run.is_rid_of_ppin());
        let reported = fs::read_to_string(&report).expect("a report");
        assert!(reported.contains("instructions"), "{reported}");
        assert_eq!(run.says("two"), "got two\n");
        let (ended, message) = detach(&ppin, &run.pid());
        assert_eq!(ended, Ended::Exit(1));
        assert!(
            message.contains("does not run under this ppin"),
            "{message}"
        );
        assert_eq!(run.end(), (Ended::Exit(0), "ok\n".to_owned()));
        assert_eq!(fs::read_to_string(&report).expect("it stays"), reported);
        let stats = Stats::one(&stats);
        let natively = stats.at("native_children").to_string();
        assert!(natively.contains("it was detached"), "{natively}");
        assert!(
            stats.number("traces_compiled") > 1000,
            "what it ran was saved"
        );
    }
}

#[test]
fn who_is_no_program_under_ppin_is_left_alone() {
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let (ended, message) = detach(&ppin, &std::process::id().to_string());
    assert_eq!(ended, Ended::Exit(1));
    assert!(
        message.contains("does not run under this ppin"),
        "{message}"
    );
    let (ended, message) = detach(&ppin, "2147483647");
    assert_eq!(ended, Ended::Exit(1));
    assert!(message.contains("there is none"), "{message}");
    for word in ["0", "-1", "name", "99999999999"] {
        assert_eq!(detach(&ppin, word).0, Ended::Exit(2), "{word}");
    }
}
