//! Where the next run will find the code of this one: in units that stay as they are, and, what it has
//! translated or merged, in units of its own.

use super::Bound;
use super::links::LinksOfUnits;
use crate::cache::CodeCache;
use crate::fresh::Fresh;
use ppin_abi::addr::{CachePc, ImageOff};
use ppin_abi::context::Context;
use ppin_images::ImageId;
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
    /// How many app bytes behind that it is entered: not 0 at a side entrance.
    aside: u32,
}

impl Place {
    pub(super) fn of(fresh: &Fresh) -> Self {
        Self {
            image: fresh.image(),
            head: fresh.code().head,
            context: fresh.context(),
            aside: 0,
        }
    }

    /// A fragment of a unit of `image`.
    fn of_unit(image: ImageId, info: &FragmentInfo) -> Self {
        Self {
            image,
            head: info.head,
            context: info.context,
            aside: 0,
        }
    }

    /// The same fragment in `unit`, one of its image's.
    pub(super) fn within(self, unit: &Bound) -> Option<FragmentInfo> {
        let entry = unit.unit.lookup(self.head, self.context).ok()??;
        unit.unit.info(entry.fragment).ok()
    }

    /// Where in the hot section of `unit`, one of its image's, the same code is entered.
    fn entered_in(self, unit: &Bound) -> Option<u32> {
        let info = self.within(unit)?;
        if self.aside == 0 {
            return Some(info.entry());
        }
        let off = self.head.0.checked_add_unsigned(self.aside)?;
        let mut all = unit.unit.side_entrances(&info);
        all.find_map(|(at, hot)| (at.0 == off).then_some(hot))
    }
}

/// A slot of a fragment: which of its exits it belongs to, or which of its other slots it is; and the cache address that
/// it leads to.
pub(super) struct Led {
    pub place: Place,
    pub nth: u32,
    /// Its address.
    pub slot: u64,
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
        own.find_map(|unit| Some((unit.checksum(), place.entered_in(unit)?)))
    }

    /// The fragment that is entered at cache address `entry`.
    pub(super) fn place(&self, entry: u64) -> Option<Place> {
        if let Some(fresh) = self.fragment_at(entry) {
            let aside = fresh.entered_aside(CachePc(entry)).unwrap_or(0);
            return Some(Place {
                aside,
                ..Place::of(fresh)
            });
        }
        let (image, unit) = self.units.at(entry)?;
        let hot = unit.hot_offset(entry)?;
        let info = unit.unit.fragment_at_hot(hot).ok()??;
        let aside = unit.unit.entered_aside(&info, hot);
        let aside = aside.map_or(0, |off| off.0.abs_diff(info.head.0));
        Some(Place {
            aside,
            ..Place::of_unit(image, &info)
        })
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
                slot,
                entry,
            })
        };
        let fresh = self.fragments_of(id).map(|(_, fresh)| fresh);
        let replaced = self.replaced(id, links, Bound::fragment_of_exit);
        fresh.flat_map(of_fresh).chain(replaced)
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
                slot: first,
                entry: fresh.site().predicted(first)?,
            })
        };
        let fresh = self.fresh.predicted().filter_map(of_fresh);
        fresh.chain(self.replaced(id, links, Bound::fragment_of_jump))
    }

    /// Those of `links` that lead from units of the image that this process has merged into others; `fragment` tells
    /// which slots are meant.
    fn replaced<'a>(
        &'a self,
        id: ImageId,
        links: &'a LinksOfUnits,
        fragment: fn(&Bound, u64) -> Option<(FragmentInfo, u32)>,
    ) -> impl Iterator<Item = Led> + 'a {
        let of_unit = move |unit: &'a Bound| {
            let led = move |(slot, entry): (u64, u64)| {
                let (info, nth) = fragment(unit, slot)?;
                let place = Place::of_unit(id, &info);
                Some(Led {
                    place,
                    nth,
                    slot,
                    entry,
                })
            };
            links.of(unit).filter_map(led)
        };
        let units = self.units.of(id).iter();
        units.filter(|unit| unit.planned.replaced).flat_map(of_unit)
    }
}

impl Bound {
    /// The fragment whose exit has the slot at `slot`, and which of its exits that is.
    fn fragment_of_exit(&self, slot: u64) -> Option<(FragmentInfo, u32)> {
        let number = self.number_of_exit_slot(slot)?;
        let info = self.unit.fragment_with_exit_slot(number).ok()??;
        let nth = (number - info.stubs.start) as usize;
        let exit = self.unit.with_stubs(info.number).ok()?.nth(nth)?;
        Some((info, exit as u32))
    }

    /// The same of slots that are no exits'.
    fn fragment_of_jump(&self, slot: u64) -> Option<(FragmentInfo, u32)> {
        let number = self.number_of_slot(slot)?;
        let info = self.unit.fragment_with_slot(number).ok()??;
        let first = info.slots.start;
        Some((info, number - first))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::unit::Written;
    use crate::unit::shelf::{Shelf, small};
    use alloc::vec::Vec;
    use ppin_abi::addr::CachePc;
    use ppin_persist::paths::UnitName;

    /// Where the code at offset 0 leads, and that at offset 0x40.
    const TO: [u64; 2] = [0x40, 0];

    /// As if the run had written `bytes`, into which units were merged.
    fn writes(shelf: &mut Shelf, seq: u32, bytes: &[u8], replaces: Vec<UnitName>) -> Written {
        shelf.publish(seq, bytes);
        for name in &replaces {
            let path = shelf.unit_path(name.seq);
            std::fs::remove_file(path).expect("it is ours");
        }
        Written {
            image: shelf.world.image,
            key: shelf.key,
            dir: shelf.folder(),
            name: UnitName { seq, tag: 1 },
            replaces,
            len: bytes.len(),
            histories: Vec::new(),
        }
    }

    /// A run that has found the code at offset 0, translated that at 0x40, and gone from each to the other.
    fn translated() -> (Shelf, Vec<u8>) {
        let mut shelf = Shelf::holding(&[small(0, &TO[..1])]);
        let there = shelf.find(0).expect("kept");
        let new = shelf.world.trace(0x40, 8, &TO[1..]);
        shelf.link(0, new);
        shelf.world.link(new, 0, there);
        let bytes = shelf.freeze_for(-0x5000_0000, &[small(0x40, &TO[1..])]);
        (shelf, bytes)
    }

    /// Entries of the code at offset 0 and at 0x40, in the first of the units that has it.
    fn entries(shelf: &mut Shelf) -> [CachePc; 2] {
        [0, 0x40].map(|offset| shelf.find(offset).expect("kept"))
    }

    /// Whether both lead to each other.
    fn is_linked(shelf: &mut Shelf) -> bool {
        let [one, other] = entries(shelf);
        let [first, second] = shelf.units() else {
            panic!("there are two units");
        };
        let slot = |unit: &super::Bound| {
            // SAFETY: within the unit's mapping.
            unsafe { (unit.exit_slots() as *const u64).read() }
        };
        let leads = |entry: CachePc| [first, second].map(slot).contains(&entry.0);
        leads(one) && leads(other)
    }

    #[test]
    fn how_code_goes_on_that_a_run_has_translated_is_known_to_the_next() {
        let (mut shelf, bytes) = translated();
        let written = [writes(&mut shelf, 1, &bytes, Vec::new())];
        let Shelf { world, library, .. } = &mut shelf;
        world.code.save_plan(library, &written);
        assert!(is_linked(&mut shelf.again()));
    }

    #[test]
    fn that_it_goes_on_in_the_middle_of_a_trace_is_known_too() {
        let mut shelf = Shelf::holding(&[small(0, &[0x41])]);
        shelf.find(0).expect("kept");
        let new = shelf.world.trace(0x40, 8, &[]);
        let pc = shelf.world.pc(0x41);
        let aside = shelf.world.code.side_entrance(pc).expect("in the middle");
        assert_eq!(aside, CachePc(new.0 + 4));
        shelf.link(0, aside);
        let bytes = shelf.freeze_for(-0x5000_0000, &[small(0x40, &[])]);
        let written = [writes(&mut shelf, 1, &bytes, Vec::new())];
        let Shelf { world, library, .. } = &mut shelf;
        world.code.save_plan(library, &written);
        let mut shelf = shelf.again();
        let [from, to] = entries(&mut shelf);
        let unit = shelf.units().iter().find(|unit| unit.contains(from.0));
        let slot = unit.expect("it is mapped").exit_slots();
        // SAFETY: within the unit's mapping.
        let leads = unsafe { (slot as *const u64).read() };
        assert_eq!(leads, to.0 + 4);
    }

    #[test]
    fn the_same_if_it_was_written_while_the_run_went_on() {
        let (mut shelf, bytes) = translated();
        let written = writes(&mut shelf, 1, &bytes, Vec::new());
        let Shelf { world, library, .. } = &mut shelf;
        world.code.map_written(library, &written);
        assert!(world.code.wants_plan(), "it was used");
        world.code.save_plan(library, &[]);
        assert!(is_linked(&mut shelf.again()));
    }

    #[test]
    fn how_code_goes_on_that_was_merged_is_known_to_the_next_run() {
        let mut shelf = Shelf::new();
        let units = [
            shelf.freeze_for(-0x6000_0000, &[small(0, &TO[..1])]),
            shelf.freeze_for(-0x5000_0000, &[small(0x40, &TO[1..])]),
        ];
        for (seq, bytes) in (0..).zip(&units) {
            shelf.publish(seq, bytes);
        }
        let [one, other] = entries(&mut shelf);
        shelf.link(0, other);
        let exit = shelf.units()[1].exit_slots();
        shelf.world.code.fresh.restore_link(exit, one.0);
        let merged = shelf.freeze_for(-0x4000_0000, &[small(0x80, &[]), small(0x40, &TO[1..])]);
        let replaces = [UnitName { seq: 1, tag: 1 }].to_vec();
        let written = [writes(&mut shelf, 2, &merged, replaces)];
        let Shelf { world, library, .. } = &mut shelf;
        world.code.save_plan(library, &written);
        assert!(is_linked(&mut shelf.again()));
    }
}
