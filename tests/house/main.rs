//! Checks the plan of the house on the sources themselves: no large circles of files, crates
//! of a size that a reader can hold in mind, arrows that point down, tests where logic is
//! pure, state that only its own file changes, and a reason for every `unsafe`.
//!
//! `cargo test -p ppin-tests --test house -- --nocapture numbers` prints what is measured; with
//! `PPIN_HOUSE=vm/engine`, also the arrows of the circles in that crate.

mod arrows;
mod attributes;
mod check;
mod code;
mod crates;
mod fields;
mod graph;
mod house;
mod imports;
mod limits;
mod names;
mod numbers;
mod parse;
mod safety;
mod symbols;
mod tokens;
mod tree;
mod unused;

#[cfg(test)]
mod examples;

use house::House;

#[test]
fn no_large_circle_of_files() {
    check::report(&check::circles(House::ours(), limits::CIRCLES));
}

#[test]
fn no_crate_is_too_large() {
    check::report(&check::sizes(House::ours(), limits::SIZES));
}

#[test]
fn no_crate_is_more_than_its_share_of_the_house() {
    check::report(&check::shares(House::ours(), limits::SHARES));
}

#[test]
fn arrows_between_crates_point_down() {
    check::report(&arrows::complaints(House::ours()));
}

#[test]
fn pure_crates_have_their_tests() {
    check::report(&check::tests(House::ours(), limits::FEW_TESTS));
}

#[test]
fn no_static_holds_code() {
    check::report(&check::hidden_calls(House::ours()));
}

#[test]
fn state_is_changed_by_its_own_methods() {
    check::report(&fields::complaints());
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    check::report(&safety::complaints());
}

#[test]
fn every_dependency_is_used() {
    check::report(&unused::complaints(&House::ours().crates));
}

#[test]
fn numbers() {
    print!("{}", numbers::table(House::ours()));
    if let Ok(folder) = std::env::var("PPIN_HOUSE") {
        print!("{}", numbers::circles(House::ours(), &folder));
    }
}
