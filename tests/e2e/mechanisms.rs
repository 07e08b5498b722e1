//! Programs whose control flow is out of the ordinary, with each mechanism for it switched off.

use ppin_tests::build::{Guest, guests_in};
use ppin_tests::command::Cmd;
use ppin_tests::skip::cpu_has;
use ppin_tests::ways::three_ways_with;

/// Those that calls, returns and indirect jumps are made by.
const WAYS: [&str; 10] = [
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

/// Runs the guests in `folder` three ways with each of these lists of mechanisms.
fn without_each(folder: &str, ways: &[&str]) {
    let guests = guests_in(folder).into_iter().map(|path| Guest::load(&path));
    for guest in guests.filter(|guest| cpu_has(&guest.spec.needs)) {
        let Some(exe) = guest.spec.variants.first().and_then(|it| guest.build(it)) else {
            continue;
        };
        for run in &guest.spec.runs {
            let cmd = Cmd::new(&exe).args(&run.args);
            for way in ways {
                three_ways_with(&[&format!("--optimize={way}")], &cmd);
            }
        }
    }
}
