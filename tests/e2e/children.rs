//! What forked children spare each other.

#![allow(missing_docs, reason = "tests")]

use ppin_tests::stats::Stats;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Outcome, Ppin};

/// Traces that the processes of a shell's first run have translated, as they ended, and what it has written.
fn compiled_by_each(script: &str) -> (Vec<u64>, Outcome) {
    let scratch = Scratch::new();
    let file = scratch.path().join("stats");
    let ppin = Ppin::new(&scratch.db()).with(&[&format!("--stats={}", file.display())]);
    let shell = Cmd::new("/bin/sh").args(["-c", script]);
    let outcome = ppin.wrap(&shell).run_ok();
    let each = Stats::read(&file).iter().map(Stats::compiled).collect();
    (each, outcome)
}

/// In a first run, too: what a child has translated it saves, and tells its parent.
#[test]
fn children_of_a_first_run_do_not_translate_the_same() {
    let (compiled, outcome) = compiled_by_each("for n in 1 2 3 4 5 6; do (echo $n); done");
    assert_eq!(outcome.text(), "1\n2\n3\n4\n5\n6\n");
    let [first, .., last, _shell] = compiled[..] else {
        panic!("seven processes: {compiled:?}");
    };
    assert!(first > 50 && 8 * last < first, "{compiled:?}");
}

/// A child that only waits for its own child passes on what that has saved.
#[test]
fn grandchildren_of_a_first_run_do_not_translate_the_same() {
    let script = "for n in 1 2 3 4; do ((case $n in [34]) umask -S;; esac); :); done";
    let (compiled, outcome) = compiled_by_each(script);
    assert_eq!(outcome.text().lines().count(), 2);
    let [.., third, _, fourth, _child, _shell] = compiled[..] else {
        panic!("nine processes: {compiled:?}");
    };
    assert!(third > 10 && 8 * fourth < third, "{compiled:?}");
}
