//! What is in the database for the next runs.

use crate::text::{count, size};
use ppin_cachedb::{Compacted, ImageEntry};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the database holds of the images that were used in the last day: runs note the use of an
/// image once a day.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Next {
    images: u64,
    units: u64,
    traces: u64,
    bytes: u64,
    /// Units that went into others just now.
    merged: u64,
}

impl Next {
    /// Of the images of a database that were used at `since` (in seconds) or later.
    pub fn new(all: &[ImageEntry], since: i64, merged: &Compacted) -> Self {
        let mut next = Self {
            merged: merged.units,
            ..Self::default()
        };
        for image in all.iter().filter(|image| image.used >= since) {
            next.images += 1;
            next.units += image.units.len() as u64;
            next.traces += image.fragments();
            next.bytes += image.bytes();
        }
        next
    }

    /// For people.
    pub fn text(&self) -> String {
        let merged = match self.merged {
            0 => String::new(),
            units => format!(", {} merged into others", count(units, "unit")),
        };
        format!(
            "ppin: now {} of {} in {} ({}){merged}",
            count(self.traces, "trace"),
            count(self.images, "image"),
            count(self.units, "unit"),
            size(self.bytes),
        )
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "images": self.images,
            "units": self.units,
            "traces": self.traces,
            "bytes": self.bytes,
            "units_merged": self.merged,
        })
    }
}

/// A day before `start`, in seconds since the epoch.
pub fn day_before(start: SystemTime) -> i64 {
    const DAY: i64 = 24 * 60 * 60;
    let seconds = start.duration_since(UNIX_EPOCH);
    seconds.map_or(0, |time| time.as_secs() as i64 - DAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn images_that_were_used_before_do_not_count() {
        let image = |used| ImageEntry {
            key_dir: [0; 16],
            image: [0; 32],
            path: None,
            label: String::new(),
            used,
            units: Vec::new(),
        };
        let since = day_before(UNIX_EPOCH + Duration::from_millis(86_500_900));
        let merged = Compacted {
            units: 2,
            ..Compacted::default()
        };
        let next = Next::new(&[99, 100, 101].map(image), since, &merged);
        assert_eq!(
            next.text(),
            "ppin: now 0 traces of 2 images in 0 units (0 B), 2 units merged into others"
        );
    }
}
