//! A unit that runs as a whole: mapped to be executed if its plan says so, which saves a call for each.
//! Nothing leads to it before its code has been verified and compared; what was refused then is closed.

use super::bound::{Bound, ColdGate, Gate};
use alloc::vec::Vec;
use ppin_os::{mem, report};

impl Bound {
    /// If all of it was mapped to be executed, takes that from the code that may not run after all.
    pub(super) fn close_rest(&mut self) {
        if !core::mem::take(&mut self.executable) {
            return;
        }
        for (start, len) in self.closed() {
            // SAFETY: code that nothing leads to.
            if let Err(e) = unsafe { mem::protect(start, len, mem::R) } {
                report::give_up(format_args!(
                    "code that must not run cannot be closed ({e})"
                ));
            }
        }
    }

    /// Places (cache addresses) and lengths of the groups, stubs included, that may not run.
    fn closed(&self) -> Vec<(u64, u64)> {
        let hot = (0..self.unit.hot_groups()).filter_map(|number| self.unit.hot_group(number));
        let hot = hot.filter(|group| self.hot_gates[group.number as usize] != Gate::Open);
        let hot = hot.map(|group| (self.hot() + u64::from(group.offset), group.len));
        let cold = (0..self.unit.cold_groups()).filter_map(|number| self.unit.cold_group(number));
        let cold = cold.filter(|group| self.cold_gates[group.number as usize] != ColdGate::Open);
        let cold = cold.map(|group| (self.cold() + u64::from(group.offset), group.len));
        let all = hot.chain(cold);
        all.map(|(start, len)| (start, mem::page_up(u64::from(len))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::unit::shelf::{Shelf, large};
    use ppin_abi::addr::CachePc;
    use ppin_abi::boot::flag;
    use std::string::{String, ToString};

    /// A run that has used both groups of a unit.
    fn first() -> Shelf {
        let mut shelf = Shelf::holding(&[large(0, &[0x40]), large(0x40, &[0])]);
        shelf.find(0).expect("kept");
        shelf.find(0x40).expect("kept");
        shelf.save_plan();
        shelf
    }

    /// The mapping that `at` lies in: its addresses, and what may be done there.
    fn mapping(at: CachePc) -> (String, String) {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("it can be read");
        let within = |line: &&str| {
            let mut ends = line
                .split([' ', '-'])
                .map(|word| u64::from_str_radix(word, 16));
            let (start, end) = (ends.next(), ends.next());
            matches!((start, end), (Some(Ok(start)), Some(Ok(end))) if (start..end).contains(&at.0))
        };
        let line = maps.lines().find(within).expect("it is mapped");
        let mut words = line.split(' ').map(str::to_string);
        (
            words.next().expect("addresses"),
            words.next().expect("permissions"),
        )
    }

    #[test]
    fn a_unit_all_of_which_is_planned_is_one_mapping() {
        let mut next = first().again();
        next.find(0).expect("kept");
        let both = [0, 0x40].map(|offset| mapping(next.entry(offset)));
        assert_eq!(both[0], both[1]);
        assert_eq!(both[0].1, "r-xp");
    }

    #[test]
    fn planned_code_that_may_not_run_cannot_be_executed() {
        let mut next = first().again();
        let pc = next.world.pc(0x44);
        next.world.app.write(pc.0, &[1]);
        next.find(0).expect("its own source is as it was");
        assert_eq!(next.find(0x40), None);
        let [first, other] = [0, 0x40].map(|offset| mapping(next.entry(offset)).1);
        assert_eq!([first.as_str(), other.as_str()], ["r-xp", "r--p"]);
    }

    #[test]
    fn a_planned_unit_that_does_not_get_its_place_runs_elsewhere() {
        let mut next = first().again_with(flag::FORBID_PREFERRED);
        next.find(0).expect("kept");
        assert!(next.units()[0].is_moved(next.world.code.images.get(next.world.image).base));
        assert_eq!(mapping(next.entry(0x40)).1, "r-xp");
    }
}
