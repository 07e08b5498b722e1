//! Several units of one image and key made into one.

use crate::file::UnitFile;
use crate::start::History;
use crate::thaw::Thawed;
use crate::{Reject, freeze, unit_flag};
use alloc::vec::Vec;
use core::cmp::Reverse;
use hashbrown::HashMap;

/// The outcome of a merge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    /// The new file.
    pub bytes: Vec<u8>,
    /// Fragments that were there more than once: left out.
    pub duplicates: u32,
    /// Fragments for an entry point that a later unit has, too, but made from other app
    /// bytes: left out, since the later unit saw the image last.
    pub conflicts: u32,
    /// What was said of each fragment.
    pub histories: Vec<History>,
}

/// Merges units: the fragments of the first, then what each following one adds, in
/// its order. The result is laid out where the first was; flags of fragments are united,
/// and it is explored if the last one is.
///
/// # Errors
/// A unit is damaged, the units differ in key, or the whole does not fit
/// ([`Reject::Reach`]).
pub fn merge(units: &[UnitFile<'_>]) -> Result<Merged, Reject> {
    let explored = |unit: &UnitFile<'_>| unit.unit().geometry().explored;
    merge_as(units, units.last().is_some_and(explored), |_, _| {
        History::UNKNOWN
    })
}

/// The same; whether it is explored is given, and `history` says of a unit, by its place among `units`, and
/// the number of a fragment in it which runs have asked for that: what more of them have asked for comes first.
///
/// # Errors
/// As of [`merge`].
pub fn merge_as(
    units: &[UnitFile<'_>],
    explored: bool,
    history: impl Fn(usize, u32) -> History,
) -> Result<Merged, Reject> {
    let first = units.first().ok_or(Reject::TooShort)?;
    if units.iter().any(|unit| !compatible(first, unit)) {
        return Err(Reject::Mixed);
    }
    let united = United::of(units, history)?;
    let order = united.order();
    let piece = |number: &usize| united.fragments[*number].piece();
    let pieces: Vec<_> = order.iter().map(piece).collect();
    let base = units
        .iter()
        .find(|unit| unit.unit().geometry().absolute_for.is_some())
        .unwrap_or(first);
    let mut spec = first.spec(&pieces);
    spec.image_base = base.spec(&pieces).image_base;
    spec.explored = explored;
    Ok(Merged {
        bytes: freeze(&spec).map_err(|_| Reject::Reach)?,
        duplicates: united.duplicates,
        conflicts: united.conflicts,
        histories: order.iter().map(|n| united.histories[*n]).collect(),
    })
}

/// The fragments of several units, each entry point once.
struct United {
    fragments: Vec<Thawed>,
    /// Of each.
    histories: Vec<History>,
    duplicates: u32,
    conflicts: u32,
}

impl United {
    fn of(units: &[UnitFile<'_>], history: impl Fn(usize, u32) -> History) -> Result<Self, Reject> {
        let most = units.iter().map(|unit| unit.unit().fragments() as usize);
        let most = most.sum();
        let mut united = Self {
            fragments: Vec::with_capacity(most),
            histories: Vec::with_capacity(most),
            duplicates: 0,
            conflicts: 0,
        };
        let mut numbers = HashMap::with_capacity(most);
        for (nth, unit) in units.iter().enumerate() {
            for (thawed, number) in unit.thaw_each()?.zip(0..) {
                let thawed = thawed?;
                let key = (thawed.fragment.head, thawed.fragment.context);
                let place = *numbers.entry(key).or_insert(united.fragments.len());
                united.add(place, thawed, history(nth, number));
            }
        }
        Ok(united)
    }

    /// Adds a fragment at `place`, or what is known of it to the one there, which has the same entry point.
    fn add(&mut self, place: usize, thawed: Thawed, history: History) {
        let Some(there) = self.fragments.get_mut(place) else {
            self.fragments.push(thawed);
            self.histories.push(history);
            return;
        };
        self.histories[place] = self.histories[place].or(history);
        if there.source_hash == thawed.source_hash {
            there.flags = unit_flag::unite(there.flags, thawed.flags);
            self.duplicates += 1;
        } else {
            *there = thawed;
            self.conflicts += 1;
        }
    }

    /// Their numbers: what more runs have asked for comes first; else all are as they were.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.fragments.len()).collect();
        order.sort_by_key(|number| Reverse(self.histories[*number].share()));
        order
    }
}

/// The same key, on the same side of their image, and no two different absolute bases.
fn compatible(a: &UnitFile<'_>, b: &UnitFile<'_>) -> bool {
    let (a, b) = (a.unit().geometry(), b.unit().geometry());
    let bases = (a.absolute_for, b.absolute_for);
    let side = a.displacement.signum() == b.displacement.signum();
    a.key == b.key && side && !matches!(bases, (Some(a), Some(b)) if a != b)
}
