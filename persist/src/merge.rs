//! Several units of one image and key made into one.

use crate::file::UnitFile;
use crate::thaw::Thawed;
use crate::{Reject, freeze, unit_flag};
use alloc::vec::Vec;
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
    merge_as(units, units.last().is_some_and(explored))
}

/// The same; whether it is explored is given.
///
/// # Errors
/// As of [`merge`].
pub fn merge_as(units: &[UnitFile<'_>], explored: bool) -> Result<Merged, Reject> {
    let first = units.first().ok_or(Reject::TooShort)?;
    if units.iter().any(|unit| !compatible(first, unit)) {
        return Err(Reject::Mixed);
    }
    let mut merged = Merged {
        bytes: Vec::new(),
        duplicates: 0,
        conflicts: 0,
    };
    let most = units.iter().map(|unit| unit.unit().fragments() as usize);
    let mut kept: Vec<Thawed> = Vec::with_capacity(most.sum());
    let mut numbers = HashMap::with_capacity(kept.capacity());
    for unit in units {
        for thawed in unit.thaw_each()? {
            let thawed = thawed?;
            let key = (thawed.fragment.head, thawed.fragment.context);
            let number = *numbers.entry(key).or_insert(kept.len());
            match kept.get_mut(number) {
                None => kept.push(thawed),
                Some(there) if there.source_hash == thawed.source_hash => {
                    there.flags = unit_flag::unite(there.flags, thawed.flags);
                    merged.duplicates += 1;
                }
                Some(there) => {
                    *there = thawed;
                    merged.conflicts += 1;
                }
            }
        }
    }
    let pieces: Vec<_> = kept.iter().map(Thawed::piece).collect();
    let base = units
        .iter()
        .find(|unit| unit.unit().geometry().absolute_for.is_some())
        .unwrap_or(first);
    let mut spec = first.spec(&pieces);
    spec.image_base = base.spec(&pieces).image_base;
    spec.explored = explored;
    merged.bytes = freeze(&spec).map_err(|_| Reject::Reach)?;
    Ok(merged)
}

/// The same key, on the same side of their image, and no two different absolute bases.
fn compatible(a: &UnitFile<'_>, b: &UnitFile<'_>) -> bool {
    let (a, b) = (a.unit().geometry(), b.unit().geometry());
    let bases = (a.absolute_for, b.absolute_for);
    let side = a.displacement.signum() == b.displacement.signum();
    a.key == b.key && side && !matches!(bases, (Some(a), Some(b)) if a != b)
}
