//! Spare stubs: those of a unit that belong to no exit, until links of the file are taken back ([`super::unlink`]).

use super::bound::{Bound, Given};
use crate::exit::number_at;
use crate::figures::Figures;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::record::stub;
use ppin_images::Home;

impl Bound {
    /// Gives the next spare stub to `exit`; its cache address. `None`: all are in use, or damaged.
    pub(super) fn give_spare(
        &mut self,
        exit: Given,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Option<u64> {
        let spares = self.unit.spares();
        let number = self.given.len() as u32;
        if number >= spares.count || !self.are_spares_sound(image, figures) {
            return None;
        }
        let stub = self.cold() + u64::from(spares.cold + stub::at(number as usize));
        let slot = self.exit_slots() + 8 * u64::from(spares.slot + number);
        self.given.push(exit);
        // SAFETY: an aligned cell of the unit's, mapped as long as it is.
        let slot = unsafe { AtomicU64::from_ptr(slot as *mut u64) };
        slot.store(stub + u64::from(stub::LEAVE), Ordering::Relaxed);
        Some(stub)
    }

    /// Whether the spare stubs are what was written. No code was verified with them, and once a branch leads to one
    /// it has to run.
    fn are_spares_sound(&mut self, image: Home<'_>, figures: &mut Figures) -> bool {
        let group = self.unit.cold_group_at(self.unit.spares().cold);
        let checked = group.map(|group| self.check_cold(&group));
        if let Some(Err(why)) = &checked {
            figures.note(alloc::format!("{}: {why}", image.path()));
            self.damaged |= why.is_damage();
        }
        matches!(checked, Some(Ok(())))
    }

    /// What the spare stub at `cold` in the cold section was given to, and the number of its slot.
    pub(super) fn spare_at(&self, cold: u32) -> Option<(Given, u32)> {
        if self.given.is_empty() {
            return None;
        }
        let spares = self.unit.spares();
        let number = number_at(cold.checked_sub(spares.cold)?.into(), spares.count as usize)?;
        let given = self.given.get(number)?;
        Some((*given, spares.slot + number as u32))
    }

    /// Whether exit slot `number` is a spare stub's.
    pub(super) fn is_spare_slot(&self, number: u32) -> bool {
        number >= self.unit.spares().slot
    }
}

#[cfg(test)]
mod tests {
    use crate::unit::shelf::{CANONICAL, Shelf, large, small};
    use alloc::vec::Vec;
    use ppin_os::mem::PAGE;
    use ppin_persist::UnitFile;

    /// Fragments that lead to one that has changed, more of them than there are spare stubs.
    #[test]
    fn where_all_spare_stubs_are_in_use_links_stay_and_who_follows_them_goes_on() {
        const MANY: u64 = 700;
        let far = 5 * PAGE;
        let mut all: Vec<_> = (0..MANY).map(|n| small(16 * n, &[far])).collect();
        all.push(large(far, &[]));
        let mut shelf = Shelf::holding(&all);
        for n in 0..MANY {
            shelf.find(16 * n).expect("kept");
        }
        let target = shelf.branch(0);
        shelf.world.app.write(shelf.world.pc(far).0, &[0x77]);
        for _ in 0..2 {
            assert!(!shelf.world.code.admit(target));
            let entry = shelf.world.code.entry_of_refused(target);
            assert_eq!(entry, (shelf.world.pc(far), CANONICAL));
        }
        let stays = |shelf: &Shelf, n: u64| shelf.branch(16 * n) == target;
        let stay = (0..MANY).filter(|n| stays(&shelf, *n)).count();
        let spares = shelf.units()[0].unit.spares().count as usize;
        assert_eq!(
            (stay, shelf.units()[0].given.len()),
            (MANY as usize - spares, spares)
        );
        assert!(stay > 0 && !stays(&shelf, 0));
    }

    #[test]
    fn an_exit_that_was_given_a_spare_stub_is_linked_by_its_slot() {
        let mut shelf = Shelf::holding(&[small(0, &[0x40]), small(0x40, &[0])]);
        shelf.find(0).expect("kept");
        let pc = shelf.world.pc(0x40).0;
        shelf.world.code.kill_made_from(pc, pc + 1);
        let (to, _) = shelf.world.code.entry_of_refused(shelf.branch(0));
        assert_eq!(to.0, pc);
        let fresh = shelf.world.trace(0x40, 8, &[]);
        shelf.link(0, fresh);
        assert_eq!((shelf.slot(0), shelf.branch(0)), (fresh.0, shelf.stub(0)));
        let number = shelf.units()[0].number_of_exit_slot(shelf.exit(0).expect("given").0);
        assert!(shelf.units()[0].is_spare_slot(number.expect("a slot")));
        // What is flushed leads to the VM again.
        shelf.world.code.flush();
        assert_eq!(shelf.slot(0), shelf.stub(0) + 6);
    }
    /// No code was verified with them.
    #[test]
    fn damaged_spare_stubs_are_not_given_and_links_stay() {
        let mut shelf = Shelf::new();
        // The code that runs has its stubs in group 0 (or would have).
        let filling: Vec<u64> = (0..1500).map(|n| 0x1000 + 4 * n).collect();
        let [from, to] = [large(0, &[0x40]), large(0x40, &[])];
        let others = [0x80, 0xc0].map(|offset| large(offset, &filling));
        let mut bytes = shelf.freeze(&[&[from, to][..], &others[..]].concat());
        let file = UnitFile::open(&bytes, None).expect("it is sound");
        let (cold, spares) = (file.unit().geometry().cold.start, file.unit().spares());
        let group = file.unit().cold_group_at(spares.cold).expect("a group");
        assert_eq!((group.number, spares.count > 0), (2, true));
        bytes[(cold + u64::from(spares.cold)) as usize] ^= 1;
        shelf.publish(0, &bytes);
        shelf.find(0).expect("kept");
        shelf.find(0x40).expect("kept");
        let target = shelf.branch(0);
        let pc = shelf.world.pc(0x40).0;
        shelf.world.code.kill_made_from(pc, pc + 1);
        assert_eq!(shelf.world.code.entry_of_refused(target).0.0, pc);
        assert_eq!(shelf.branch(0), target);
        assert!(shelf.units()[0].is_damaged() && !shelf.notes().is_empty());
    }
}
