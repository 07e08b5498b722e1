//! What is measured, as a table.

use crate::crates::{below, project};
use crate::house::House;
use std::fmt::Write;

/// A line per crate: its size, its share, its tests, its largest circle.
pub fn table(house: &House) -> String {
    let all = house.all_lines();
    let mut text = format!(
        "\n{:18}{:>8}{:>8}{:>8}{:>10}{:>8}\n",
        "crate", "lines", "share", "tests", "per test", "circle"
    );
    for krate in house.shipped() {
        let folder = &*krate.folder;
        let (lines, tests) = (house.lines(folder), house.tests(folder));
        let per_test = lines
            .checked_div(tests)
            .map_or(String::from("-"), |n| n.to_string());
        let share = format!("{:.1} %", lines as f64 * 100.0 / all as f64);
        let circle = match house.circle(folder).len() {
            0 => String::from("none"),
            files => files.to_string(),
        };
        writeln!(
            text,
            "{folder:18}{lines:>8}{share:>8}{tests:>8}{per_test:>10}{circle:>8}"
        )
        .unwrap();
    }
    let largest = house.circles.first().map_or(1, Vec::len);
    writeln!(
        text,
        "{all} lines in {} files; largest circle: {largest} files",
        house.files.len()
    )
    .unwrap();
    text
}

/// Every circle that a file of this crate is in, and the arrows that make it.
pub fn circles(house: &House, folder: &str) -> String {
    let mut text = String::new();
    for circle in &house.circles {
        if !circle.iter().any(|&file| house.files[file].krate == folder) {
            continue;
        }
        writeln!(text, "a circle of {} files:", circle.len()).unwrap();
        let inside = |file| circle.contains(file);
        for (from, to) in house
            .arrows
            .iter()
            .filter(|(from, to)| inside(from) && inside(to))
        {
            let [from, to] = [from, to].map(|&file| below(&project(), &house.files[file].path));
            writeln!(text, "  {from} -> {to}").unwrap();
        }
    }
    text
}
