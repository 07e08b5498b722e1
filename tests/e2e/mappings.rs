//! How many mappings ppin takes of those that a process may have (`vm.max_map_count`).

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::skip;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Ppin};
use std::fs;

/// Mappings of ours that a program misses at most.
const MOST: i64 = 100;

/// How many mappings the program of `cmd` could make.
fn made(scratch: &Scratch, cmd: &Cmd) -> i64 {
    let outcome = scratch.run(cmd);
    assert!(outcome.errors().is_empty(), "{outcome:?}");
    let number = fs::read_to_string(scratch.path().join("cwd/made")).expect("the guest's number");
    number.parse().expect("a number")
}

#[test]
fn a_program_that_uses_up_all_mappings_misses_few() {
    let allowed = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    if allowed.trim().parse().is_ok_and(|most: u64| most > 1 << 18) {
        return skip::skipped(
            "mappings that ppin takes",
            "more are allowed than can be made",
        );
    }
    let exe = Guest::load("memory/mappings_used_up.c")
        .build("pie")
        .expect("guest");
    let scratch = Scratch::new();
    let ppin = Ppin::new(&scratch.db());
    let native = Cmd::new(&exe).args(["made"]);
    let natively = made(&scratch, &native);
    for way in ["cold", "warm", "warm again"] {
        let missed = natively - made(&scratch, &ppin.wrap(&native));
        assert!(missed <= MOST, "{way}: {missed} of {natively} mappings");
    }
}
