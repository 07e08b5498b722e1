//! Side entrances of a unit's fragments ([`ppin_relocator::side_entrances`]).
//!
//! Links in the file lead there, too, so whatever takes a fragment out of use looks after all of its entrances.

use super::bound::Bound;
use ppin_abi::addr::{AppPc, ImageBase, ImageOff};
use ppin_persist::FragmentInfo;

impl Bound {
    /// The side entrances of a fragment, in the app and in the cache; the image lies at `base`.
    pub(super) fn entrances_aside(
        &self,
        info: &FragmentInfo,
        base: ImageBase,
    ) -> impl Iterator<Item = (AppPc, u64)> {
        let all = self.unit.side_entrances(info);
        all.map(move |(off, hot)| (off.at(base), self.hot() + u64::from(hot)))
    }

    /// Whether `hot` in the hot section is a side entrance of a killed fragment.
    pub(super) fn is_killed_aside(&self, hot: u32) -> bool {
        if self.killed.is_empty() {
            return false;
        }
        let info = self.unit.fragment_at_hot(hot).ok().flatten();
        info.is_some_and(|info| {
            self.killed.contains(&info.entry()) && self.unit.entered_aside(&info, hot).is_some()
        })
    }

    /// Whether the code at `off` is the middle of a trace that it has, and can be entered there.
    #[must_use]
    pub fn holds(&self, off: ImageOff) -> bool {
        matches!(self.unit.side_entrance(off), Ok(Some(_)))
    }
}

#[cfg(test)]
mod tests {
    use crate::unit::shelf::{Shelf, large};
    use ppin_abi::addr::CachePc;
    use ppin_abi::context::Context;

    const INT3: u8 = 0xcc;
    /// Where fragments of these tests have a side entrance: the app byte, and the byte of the code.
    const ASIDE: (u64, u64) = (1, 4);

    /// Two fragments, the first of which leads into the second one.
    fn leading_aside() -> Shelf {
        Shelf::holding(&[large(0, &[0x40 + ASIDE.0]), large(0x40, &[])])
    }

    fn aside(entry: CachePc) -> CachePc {
        CachePc(entry.0 + ASIDE.1)
    }

    #[test]
    fn code_in_the_middle_of_a_trace_is_found_there() {
        let mut shelf = leading_aside();
        let found = shelf.find(0x40 + ASIDE.0).expect("in the middle");
        assert_eq!(found, aside(shelf.entry(0x40)));
        assert_eq!(shelf.branch(0), found.0, "linked in the file");
        assert_eq!(shelf.find(0x42), None, "inside an instruction");
        let other = shelf.find_under(0x40 + ASIDE.0, Context::CONTINUATION);
        assert_eq!(other, None);
    }

    #[test]
    fn killed_code_stops_who_comes_from_aside() {
        let mut shelf = leading_aside();
        let [from, to] = [0, 0x40].map(|offset| shelf.find(offset).expect("kept"));
        let fresh = shelf.world.trace(0x80, 8, &[0x40 + ASIDE.0]);
        shelf.world.link(fresh, 0, aside(to));
        let pc = shelf.world.pc(0x40 + ASIDE.0);
        shelf.world.code.kill_made_from(pc.0, pc.0 + 1);
        assert_eq!(shelf.world.leads(fresh, 0), None);
        assert_eq!(shelf.byte(aside(to)), INT3);
        let killed = |at: CachePc| shelf.units()[0].is_killed(at.0);
        assert!(killed(to) && killed(aside(to)) && !killed(from) && !killed(aside(from)));
        assert!(!killed(CachePc(to.0 + 1)), "nothing leads there");
        assert_eq!(shelf.find(0x40 + ASIDE.0), None);
        let found = shelf.world.code.entry_of_refused(aside(to).0);
        assert_eq!(found, (pc, Context::CANONICAL));
        assert_eq!(shelf.branch(0), shelf.stub(0), "to its stub");
    }

    #[test]
    fn who_comes_from_aside_to_refused_code_goes_on_where_it_wanted() {
        let mut shelf = leading_aside();
        shelf.find(0).expect("kept");
        let pc = shelf.world.pc(0x40 + ASIDE.0);
        shelf.world.app.write(pc.0, &[0x77]);
        let at = aside(shelf.entry(0x40));
        assert!(!shelf.world.code.admit(at.0));
        let found = shelf.world.code.entry_of_refused(at.0);
        assert_eq!(found, (pc, Context::CANONICAL));
        assert_eq!(shelf.branch(0), shelf.stub(0), "to its stub");
    }
}
