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
    /// For each unit, what number each of its fragments has now.
    pub places: Vec<Vec<u32>>,
}

impl Merged {
    /// Histories of the fragments, as `of` tells them of a unit, by its place among those that were merged, and the
    /// number of a fragment in it.
    #[must_use]
    pub fn histories(&self, of: impl Fn(usize, u32) -> History) -> Vec<History> {
        let all = self.places.iter().flatten();
        let count = all.max().map_or(0, |last| *last as usize + 1);
        let mut histories = alloc::vec![History::UNKNOWN; count];
        for (nth, places) in self.places.iter().enumerate() {
            for (number, place) in (0..).zip(places) {
                let there = &mut histories[*place as usize];
                *there = there.or(of(nth, number));
            }
        }
        histories
    }
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
    merge_as(units, units.last().is_some_and(explored), |_, _| 0)
}

/// The same; whether it is explored is given, and `weight` says of a unit, by its place among `units`, and the
/// number of a fragment in it how much that is used: what is used more comes first.
///
/// # Errors
/// As of [`merge`].
pub fn merge_as(
    units: &[UnitFile<'_>],
    explored: bool,
    weight: impl Fn(usize, u32) -> u32,
) -> Result<Merged, Reject> {
    let first = units.first().ok_or(Reject::TooShort)?;
    if units.iter().any(|unit| !compatible(first, unit)) {
        return Err(Reject::Mixed);
    }
    let united = United::of(units, weight)?;
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
    spec.entrances = units.iter().any(|unit| unit.unit().has_side_entrances());
    Ok(Merged {
        bytes: freeze(&spec).map_err(|_| Reject::Reach)?,
        duplicates: united.duplicates,
        conflicts: united.conflicts,
        places: united.places_after(&order),
    })
}

/// The fragments of several units, each entry point once.
struct United {
    fragments: Vec<Thawed>,
    /// Of each.
    weights: Vec<u32>,
    /// For each unit, which of them its fragments are.
    places: Vec<Vec<u32>>,
    duplicates: u32,
    conflicts: u32,
}

impl United {
    fn of(units: &[UnitFile<'_>], weight: impl Fn(usize, u32) -> u32) -> Result<Self, Reject> {
        let most = units.iter().map(|unit| unit.unit().fragments() as usize);
        let most = most.sum();
        let mut united = Self {
            fragments: Vec::with_capacity(most),
            weights: Vec::with_capacity(most),
            places: Vec::with_capacity(units.len()),
            duplicates: 0,
            conflicts: 0,
        };
        let mut numbers = HashMap::with_capacity(most);
        for (nth, unit) in units.iter().enumerate() {
            let mut places = Vec::with_capacity(unit.unit().fragments() as usize);
            for (thawed, number) in unit.thaw_each()?.zip(0..) {
                let thawed = thawed?;
                let key = (thawed.fragment.head, thawed.fragment.context);
                let place = *numbers.entry(key).or_insert(united.fragments.len());
                united.add(place, thawed, weight(nth, number));
                places.push(place as u32);
            }
            united.places.push(places);
        }
        Ok(united)
    }

    /// Adds a fragment at `place`, or what is known of it to the one there, which has the same entry point.
    fn add(&mut self, place: usize, thawed: Thawed, weight: u32) {
        let Some(there) = self.fragments.get_mut(place) else {
            self.fragments.push(thawed);
            self.weights.push(weight);
            return;
        };
        self.weights[place] = self.weights[place].max(weight);
        if there.source_hash == thawed.source_hash {
            there.flags = unit_flag::unite(there.flags, thawed.flags);
            self.duplicates += 1;
        } else {
            *there = thawed;
            self.conflicts += 1;
        }
    }

    /// Their numbers: what is used more comes first; else all are as they were.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.fragments.len()).collect();
        order.sort_by_key(|number| Reverse(self.weights[*number]));
        order
    }

    /// [`Merged::places`] if the fragments are put in this order.
    fn places_after(&self, order: &[usize]) -> Vec<Vec<u32>> {
        let mut after = alloc::vec![0; order.len()];
        for (place, number) in (0..).zip(order) {
            after[*number] = place;
        }
        let moved = |number: &u32| after[*number as usize];
        let all = self.places.iter();
        all.map(|places| places.iter().map(moved).collect())
            .collect()
    }
}

/// The same key, on the same side of their image, and no two different absolute bases.
fn compatible(a: &UnitFile<'_>, b: &UnitFile<'_>) -> bool {
    let (a, b) = (a.unit().geometry(), b.unit().geometry());
    let bases = (a.absolute_for, b.absolute_for);
    let side = a.displacement.signum() == b.displacement.signum();
    a.key == b.key && side && !matches!(bases, (Some(a), Some(b)) if a != b)
}
