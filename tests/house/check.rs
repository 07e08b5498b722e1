//! The checks: each complaint is a sentence that says what to do.

use crate::crates::{below, project};
use crate::house::House;
use crate::limits::{CIRCLE, Exceptions, LINES, LINES_PER_TEST, PURE, SHARE};

/// How many files of a circle a complaint names.
const SHOWN: usize = 12;

/// Fails with all complaints, if there are any.
pub fn report(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n  {}\n", complaints.join("\n  "));
}

/// Circles of files that are too large.
pub fn circles(house: &House, exceptions: Exceptions) -> Vec<String> {
    against(
        house,
        CIRCLE,
        exceptions,
        |folder| house.circle(folder).len(),
        |folder, files, limit| {
            let some = some_of(house, house.circle(folder));
            format!(
                "{folder}: {files} files import each other in one circle, the limit is {limit}. \
             Move what both sides need below them, or have the caller hand it in: {some}"
            )
        },
    )
}

/// Some files of a circle, by name.
fn some_of(house: &House, circle: &[usize]) -> String {
    let project = project();
    let names = circle
        .iter()
        .take(SHOWN)
        .map(|&file| below(&project, &house.files[file].path));
    let mut text = names.collect::<Vec<_>>().join(", ");
    if circle.len() > SHOWN {
        text += &format!(" and {} more", circle.len() - SHOWN);
    }
    text
}

/// Crates with too many lines.
pub fn sizes(house: &House, exceptions: Exceptions) -> Vec<String> {
    against(
        house,
        LINES,
        exceptions,
        |folder| house.lines(folder),
        |folder, lines, limit| {
            format!(
                "{folder} has {lines} lines of source, the limit is {limit}: divide it by subject"
            )
        },
    )
}

/// Crates that are too large a part of the house.
pub fn shares(house: &House, exceptions: Exceptions) -> Vec<String> {
    let share = |folder: &str| (house.lines(folder) * 100).div_ceil(house.all_lines());
    against(house, SHARE, exceptions, share, |folder, percent, limit| {
        format!("{folder} holds {percent} % of all source, the limit is {limit} %: divide it")
    })
}

/// Pure crates with too few tests.
pub fn tests(house: &House, exceptions: Exceptions) -> Vec<String> {
    let per_test = |folder: &str| match PURE.contains(&folder) {
        true => house.lines(folder).div_ceil(house.tests(folder).max(1)),
        false => 0,
    };
    against(
        house,
        LINES_PER_TEST,
        exceptions,
        per_test,
        |folder, lines, limit| {
            format!(
                "{folder} has one test for {lines} lines, the limit is {limit}: write some more"
            )
        },
    )
}

/// Statics and casts that hide whom a file calls.
pub fn hidden_calls(house: &House) -> Vec<String> {
    let project = project();
    let hidden = house
        .files
        .iter()
        .flat_map(|file| file.hidden.iter().map(move |at| (file, at)));
    hidden
        .map(|(file, (line, what))| {
            let path = below(&project, &file.path);
            format!(
                "{path}:{line}: {what} holds code that no import shows: have the caller hand it in"
            )
        })
        .collect()
}

/// Compares what `measure` finds of each crate with the limit, or with its exception, which
/// must be lowered when it has become loose.
fn against(
    house: &House,
    limit: usize,
    exceptions: Exceptions,
    measure: impl Fn(&str) -> usize,
    sentence: impl Fn(&str, usize, usize) -> String,
) -> Vec<String> {
    let mut complaints = Vec::new();
    for krate in house.shipped() {
        let folder = &*krate.folder;
        let found = measure(folder);
        let exception = exceptions
            .iter()
            .find(|(name, _)| *name == folder)
            .map(|(_, n)| *n);
        if found > exception.unwrap_or(limit) {
            complaints.push(sentence(folder, found, exception.unwrap_or(limit)));
        } else if exception.is_some() && found <= limit {
            complaints.push(format!(
                "{folder} keeps the limit of {limit}: remove its line in limits.rs"
            ));
        } else if exception.is_some_and(|exception| found * 10 < exception * 9) {
            complaints.push(format!(
                "{folder} is at {found} now: lower its number in limits.rs"
            ));
        }
    }
    complaints
}
