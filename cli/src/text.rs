//! Writing listings: aligned tables, sizes, JSON lines, progress.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ppin_sdk::table::{Align, Table};
use std::time::{Duration, Instant};

/// Hexadecimal digits by which a listing names an image.
pub const SHORT_HASH: usize = 12;

/// A table whose first row says what is in the columns.
pub fn table<const COLUMNS: usize>(columns: [(&str, Align); COLUMNS]) -> Table<COLUMNS> {
    let mut table = Table::new(columns.map(|(_, align)| align));
    table.row(columns.map(|(name, _)| name.to_owned()));
    table
}

/// A number of bytes, for people.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// The first digits of a hash.
pub fn short(hash: &[u8]) -> String {
    let mut digits = ppin_persist::paths::to_hex(hash);
    digits.truncate(SHORT_HASH);
    digits
}

/// `1 unit`, `2 units`.
pub fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Days and hours since `then` (seconds of the epoch).
pub fn age(then: i64) -> String {
    let now = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |now| now.as_secs() as i64);
    match now.saturating_sub(then).max(0) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..86400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86400),
    }
}

/// A bar on standard error, if that is a terminal and the work takes a while.
pub struct Progress {
    bar: ProgressBar,
    since: Instant,
}

impl Progress {
    /// Nothing is shown yet.
    pub fn new(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        Self {
            bar,
            since: Instant::now(),
        }
    }

    /// `done` of `all` are done.
    pub fn at(&self, done: u64, all: u64) {
        const A_WHILE: Duration = Duration::from_millis(300);
        if self.bar.is_hidden() && self.since.elapsed() > A_WHILE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_length(all);
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_four_digits_at_most() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size((1 << 20) - 1), "1.0 MiB");
        assert_eq!(size(5 << 40), "5.0 TiB");
    }

    #[test]
    fn counts_and_hashes_are_short() {
        assert_eq!(
            (count(1, "unit"), count(0, "unit")),
            ("1 unit".into(), "0 units".into())
        );
        assert_eq!(short(&[0xab; 32]), "abababababab");
    }

    #[test]
    fn ages_are_in_one_unit() {
        assert_eq!(age(i64::MAX), "0 s");
        assert!(age(0).ends_with(" d"));
    }
}
