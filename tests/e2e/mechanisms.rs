//! Programs whose control flow is out of the ordinary, with each mechanism for it switched off.

use ppin_tests::build::Guest;
use ppin_tests::ways::{Scratch, each_call_in, three_ways_with};
use ppin_tests::{Cmd, Ppin};

/// Those that calls, returns and indirect jumps are made by.
const WAYS: [&str; 11] = [
    "-predict",
    "-untaken",
    "-callees",
    "+untaken",
    "-callees,-untaken",
    "-returns",
    "-indirect",
    "-entrances",
    "-canonical",
    "-sealed",
    "-tables",
];

#[test]
fn control_flow_is_right_without_each_of_them() {
    without_each("flow", &WAYS);
}

#[test]
fn bad_branches_are_blamed_on_themselves_by_a_note_too() {
    without_each("fault", &["-canonical"]);
}

#[test]
fn code_that_is_rewritten_is_right_however_it_compares_itself() {
    without_each("rewritten", &["-apart", "none"]);
}

/// Whoever makes cells read-only is believed for as long as they are, and what is compared with nothing is
/// noticed all the same.
#[test]
fn what_the_program_seals_and_opens_is_known() {
    let guest = Guest::load("flow/sealed_cells.c");
    let exe = guest.build("pie").expect("it is a variant");
    let scratch = Scratch::new();
    for run in ["fresh", "kept"] {
        let log = scratch.path().join(run);
        let options = ["--log", log.to_str().unwrap(), "--optimize=all"];
        let ppin = Ppin::new(&scratch.db()).with(&options);
        assert_eq!(ppin.wrap(&Cmd::new(&exe)).run().text(), "ok\n");
        let log = std::fs::read_to_string(log).unwrap();
        let with = |words: &str| log.lines().filter(|line| line.contains(words)).count();
        let [sealed, opened] = [" are sealed", " are not sealed any more"].map(with);
        assert!(sealed > opened && opened > 600, "{run}: {sealed} {opened}");
    }
}

/// Runs the guests in `folder` three ways with each of these lists of mechanisms.
fn without_each(folder: &str, ways: &[&str]) {
    each_call_in(folder, |cmd| {
        for way in ways {
            three_ways_with(&[&format!("--optimize={way}")], cmd);
        }
    });
}
