//! What was counted, by image, and written.

use crate::table::{Branches, Row};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use core::cmp::Reverse;
use ppin_sdk::json::Object;
use ppin_sdk::number::{Grouped, Share};
use ppin_sdk::prelude::*;
use ppin_sdk::table::{Align, Table};

/// The branches of a process, most frequent first.
pub(crate) struct Sites {
    all: Vec<Site>,
    others: Row,
}

/// A branch.
struct Site {
    /// Its image.
    path: String,
    /// Where it stands in that.
    offset: i64,
    executed: u64,
    taken: u64,
}

impl Sites {
    /// Branches that are no image's are left out. What lies at one place of files of one path is one.
    pub(crate) fn of(branches: &Branches, images: &[ImageInfo]) -> Self {
        let mut by_place = BTreeMap::<(&str, i64), (u64, u64)>::new();
        for row in branches.rows() {
            if let Some(place) = place(row.pc, images) {
                let (executed, taken) = by_place.entry(place).or_default();
                *executed += row.executed;
                *taken += row.taken;
            }
        }
        let site = |((path, offset), (executed, taken)): ((&str, i64), (u64, u64))| Site {
            path: path.into(),
            offset,
            executed,
            taken,
        };
        let mut all: Vec<Site> = by_place.into_iter().map(site).collect();
        all.sort_by_key(|site| Reverse(site.executed));
        Self {
            all,
            others: branches.others(),
        }
    }

    /// For people: the first `top` branches.
    pub(crate) fn human(&self, top: Option<usize>) -> Table<3> {
        let mut table = Table::new([Align::Right, Align::Right, Align::Left]);
        let mut row = |executed, taken, name: String| {
            let share = Share {
                part: taken,
                whole: executed,
            };
            table.row([Grouped(executed).to_string(), share.to_string(), name]);
        };
        let (executed, taken) = self.total();
        row(
            executed,
            taken,
            "branches, and how many of them were taken".into(),
        );
        for site in self.all.iter().take(top.unwrap_or(usize::MAX)) {
            let place = format!("  {}+{:#x}", site.path, site.offset);
            row(site.executed, site.taken, place);
        }
        table
    }

    /// For programs: all branches.
    pub(crate) fn members(&self, o: &mut Object<'_>) -> fmt::Result {
        let (executed, taken) = self.total();
        o.field("branches", executed)?;
        o.field("taken", taken)?;
        o.field("others", self.others.executed)?;
        o.array("sites", |a| {
            let mut all = self.all.iter();
            all.try_for_each(|site| {
                a.object(|o| {
                    o.field("image", site.path.as_str())?;
                    o.field("offset", site.offset.cast_unsigned())?;
                    o.field("executed", site.executed)?;
                    o.field("taken", site.taken)
                })
            })
        })
    }

    fn total(&self) -> (u64, u64) {
        let all = self.all.iter().map(|site| (site.executed, site.taken));
        let others = (self.others.executed, self.others.taken);
        all.fold(others, |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// The image whose code `pc` is, and where in that: the one that begins last before it. (What was unmapped may be
/// another one's place now.)
fn place(pc: u64, images: &[ImageInfo]) -> Option<(&str, i64)> {
    let before = images.iter().filter(|image| image.base.0 <= pc);
    let image = before.max_by_key(|image| (image.base.0, image.id))?;
    Some((&image.path, pc.wrapping_sub(image.base.0).cast_signed()))
}
