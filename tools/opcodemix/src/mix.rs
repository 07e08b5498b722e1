//! What was counted, sorted and written.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use core::cmp::Reverse;
use ppin_sdk::json::Object;
use ppin_sdk::number::{Grouped, Share};
use ppin_sdk::prelude::*;
use ppin_sdk::table::{Align, Table};

/// The images that executed anything, busiest first.
pub struct Mix {
    images: Vec<Image>,
}

/// The opcodes that were executed in one image, most frequent first.
struct Image {
    path: String,
    counts: Vec<(Opcode, u64)>,
}

impl Mix {
    /// Reads the counters. Images of one path, such as a library loaded twice, are
    /// one.
    pub fn read(host: &dyn Host) -> Self {
        let mut by_path = BTreeMap::<String, BTreeMap<Opcode, u64>>::new();
        for image in host.images() {
            let counts = by_path.entry(image.path).or_default();
            for opcode in (0..OPCODES).filter_map(Opcode::from_index) {
                let count = host.image_total(image.id, opcode.index());
                if count > 0 {
                    *counts.entry(opcode).or_default() += count;
                }
            }
        }
        let images = by_path
            .into_iter()
            .map(|(path, counts)| Image::new(path, counts));
        let mut images: Vec<Image> = images.filter(|image| image.total() > 0).collect();
        images.sort_by_key(|image| Reverse(image.total()));
        Self { images }
    }

    fn total(&self) -> u64 {
        self.images.iter().map(Image::total).sum()
    }

    /// For people: the first `top` opcodes of each image.
    pub fn human(&self, top: Option<usize>) -> Table<3> {
        let mut table = Table::new([Align::Right, Align::Right, Align::Left]);
        let total = self.total();
        let mut row = |count, share: String, name: String| {
            table.row([Grouped(count).to_string(), share, name]);
        };
        row(total, String::new(), "instructions".into());
        for image in &self.images {
            let share = |part, whole| Share { part, whole }.to_string();
            row(
                image.total(),
                share(image.total(), total),
                image.path.clone(),
            );
            let shown = top.unwrap_or(usize::MAX).min(image.counts.len());
            for (opcode, count) in &image.counts[..shown] {
                row(*count, share(*count, image.total()), format!("  {opcode}"));
            }
            let rest = &image.counts[shown..];
            if !rest.is_empty() {
                let count = rest.iter().map(|(_, count)| count).sum();
                let name = format!("  {} more", rest.len());
                row(count, share(count, image.total()), name);
            }
        }
        table
    }

    /// For programs: all opcodes.
    pub fn members(&self, o: &mut Object<'_>) -> fmt::Result {
        o.field("instructions", self.total())?;
        o.array("images", |a| {
            let mut images = self.images.iter();
            images.try_for_each(|image| a.object(|o| image.members(o)))
        })
    }
}

impl Image {
    fn new(path: String, counts: BTreeMap<Opcode, u64>) -> Self {
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        Self { path, counts }
    }

    fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    fn members(&self, o: &mut Object<'_>) -> fmt::Result {
        o.field("path", self.path.as_str())?;
        o.field("instructions", self.total())?;
        o.object("opcodes", |o| {
            let mut counts = self.counts.iter();
            counts.try_for_each(|(opcode, count)| o.field(&opcode.to_string(), *count))
        })
    }
}
