//! Where the next run will find the code of this one: in units that stay as they are, and, what it has
//! translated or merged, in units of its own.

use super::Bound;
use super::learnt::LinksOfUnits;
use crate::cache::CodeCache;
use crate::fresh::Fresh;
use crate::image::ImageId;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_persist::FragmentInfo;

/// Units that this process has written just now.
pub(super) type New = [(ImageId, Bound)];

/// A fragment, wherever it is kept.
#[derive(Clone, Copy)]
pub(super) struct Place {
    image: ImageId,
    /// Offset of its app address in the image.
    pub head: ImageOff,
    context: Context,
}

impl Place {
    pub(super) fn of(fresh: &Fresh) -> Self {
        Self {
            image: fresh.image(),
            head: fresh.code().head,
            context: fresh.context(),
        }
    }

    /// A fragment of a unit of `image`.
    fn of_unit(image: ImageId, info: &FragmentInfo) -> Self {
        Self {
            image,
            head: info.head,
            context: info.context,
        }
    }

    /// The same fragment in `unit`, one of its image's.
    pub(super) fn within(self, unit: &Bound) -> Option<FragmentInfo> {
        let entry = unit.unit.lookup(self.head, self.context).ok()??;
        unit.unit.info(entry.fragment).ok()
    }
}

/// A slot of a fragment: which of its slots of that kind; and the cache address that it leads to.
pub(super) struct Led {
    pub place: Place,
    pub nth: u32,
    pub entry: u64,
}

impl CodeCache {
    /// The unit, by its checksum, and the offset in its hot section where the code is kept that is entered at
    /// cache address `entry`.
    pub(super) fn kept(&self, entry: u64, new: &New) -> Option<(u64, u32)> {
        if let Some((_, unit)) = self.units.at(entry)
            && !unit.planned.replaced
        {
            return Some((unit.checksum(), unit.hot_offset(entry)?));
        }
        let place = self.place(entry)?;
        let mut own = self.own_units(place.image, new);
        let found = own.find_map(|unit| Some((unit, place.within(unit)?)));
        found.map(|(unit, info)| (unit.checksum(), info.entry()))
    }

    /// The fragment that is entered at cache address `entry`.
    pub(super) fn place(&self, entry: u64) -> Option<Place> {
        if let Some(fresh) = self.fragment_at(entry) {
            return Some(Place::of(fresh));
        }
        let (image, unit) = self.units.at(entry)?;
        let info = unit.unit.fragment_at_hot(unit.hot_offset(entry)?).ok()??;
        Some(Place::of_unit(image, &info))
    }

    /// Units of the image that this process has written, and that are still there.
    fn own_units<'a>(&'a self, id: ImageId, new: &'a New) -> impl Iterator<Item = &'a Bound> {
        let new = new.iter().filter(move |(image, _)| *image == id);
        let mapped = self.units.of(id).iter();
        let mapped = mapped.filter(|unit| unit.planned.own && !unit.planned.replaced);
        new.map(|(_, unit)| unit).chain(mapped)
    }

    /// Exits of the image's code that run here, but are kept elsewhere: in fresh code, and in units that were
    /// replaced.
    pub(super) fn exits_elsewhere<'a>(
        &'a self,
        id: ImageId,
        links: &'a LinksOfUnits,
    ) -> impl Iterator<Item = Led> + 'a {
        let of_fresh = |fresh: &'a Fresh| {
            let slots = fresh.exit_slots();
            let (place, first) = (Place::of(fresh), slots.start);
            let links = links.within(slots);
            links.map(move |(slot, entry)| Led {
                place,
                nth: ((slot - first) / 8) as u32,
                entry,
            })
        };
        let of_unit = move |unit: &'a Bound| {
            let led = move |(slot, entry): (u64, u64)| {
                let number = unit.number_of_exit_slot(slot)?;
                let info = unit.unit.fragment_with_exit_slot(number).ok()??;
                Some(Led {
                    place: Place::of_unit(id, &info),
                    nth: number - info.exits.start,
                    entry,
                })
            };
            links.of(unit).filter_map(led)
        };
        let fresh = self.fragments_of(id).map(|(_, fresh)| fresh);
        let replaced = self.replaced(id);
        fresh.flat_map(of_fresh).chain(replaced.flat_map(of_unit))
    }

    /// The same of jumps through cells that are predicted.
    pub(super) fn jumps_elsewhere<'a>(
        &'a self,
        id: ImageId,
        links: &'a LinksOfUnits,
    ) -> impl Iterator<Item = Led> + 'a {
        let of_fresh = move |(first, site): (u64, u64)| {
            let fresh = self.fragment_at(site).filter(|fresh| fresh.image() == id)?;
            Some(Led {
                place: Place::of(fresh),
                nth: u32::try_from(first.checked_sub(fresh.space().slots)? / 8).ok()?,
                entry: fresh.site().predicted(first)?,
            })
        };
        let of_unit = move |unit: &'a Bound| {
            let led = move |(slot, entry): (u64, u64)| {
                let number = unit.number_of_slot(slot)?;
                let info = unit.unit.fragment_with_slot(number).ok()??;
                Some(Led {
                    place: Place::of_unit(id, &info),
                    nth: number - info.slots.start,
                    entry,
                })
            };
            links.of(unit).filter_map(led)
        };
        let fresh = self.fresh.predicted().filter_map(of_fresh);
        fresh.chain(self.replaced(id).flat_map(of_unit))
    }

    /// Units of the image whose code this process has merged into others.
    fn replaced(&self, id: ImageId) -> impl Iterator<Item = &Bound> {
        let units = self.units.of(id).iter();
        units.filter(|unit| unit.planned.replaced)
    }
}
