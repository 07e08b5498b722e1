//! Taking back links of the file that lead to code which must not run.
//!
//! Direct exits are linked in the file: the branch of one fragment goes straight to another.
//! Where that other one is in a refused group, or its source has changed, each passage would
//! be a fault. So at the first fault the branch is led to a spare stub, as if it had never been
//! linked, and from there the VM links it to what takes the other's place. If there is no sound spare stub left,
//! each passage stays a fault: that is slow, but leads to the same place.
//!
//! Some threads may be on their way meanwhile. Where they wanted to go is known from the table of
//! fragments; if that is damaged there, it is remembered ([`LedAway`]).

use super::bound::Given;
use super::bound::{Bound, Gate, LedAway};
use crate::figures::Figures;
use core::sync::atomic::{AtomicU32, Ordering};
use ppin_images::Home;
use ppin_os::mem;
use ppin_persist::{CodeGroup, FragmentInfo};
use ppin_relocator::Exit;

impl Bound {
    /// Takes back what leads from code that runs to code that must not.
    pub(crate) fn unlink_refused(&mut self, image: Home<'_>, figures: &mut Figures) {
        let refused = self.hot_gates.iter().filter(|gate| **gate == Gate::Refused);
        let out_of_use = refused.count() + self.killed.len();
        if self.taken_back == out_of_use {
            return;
        }
        self.taken_back = out_of_use;
        for number in 0..self.unit.hot_groups() {
            let group = self.unit.hot_group(number);
            if let Some(group) = group.filter(|_| self.is_open(number)) {
                self.unlink_group(&group, image, figures);
            }
        }
    }

    /// The same for what leads there from `group`, which has just been admitted.
    pub(super) fn unlink_admitted(
        &mut self,
        group: &CodeGroup,
        image: Home<'_>,
        figures: &mut Figures,
    ) {
        if self.hot_gates.contains(&Gate::Refused) || !self.killed.is_empty() {
            self.unlink_group(group, image, figures);
        }
    }

    fn unlink_group(&mut self, group: &CodeGroup, image: Home<'_>, figures: &mut Figures) {
        for fragment in group.fragments.clone() {
            let Ok(info) = self.unit.info(fragment) else {
                continue;
            };
            let exits = self.unit.exits(fragment).into_iter().flatten().flatten();
            for (number, exit) in exits.enumerate() {
                let target = self.branch_target(&info, &exit);
                if let Some(target) = target.filter(|target| self.must_not_run(*target)) {
                    self.remember(target, &exit);
                    let spare = self.spare_for(&info, number as u32, &exit, image, figures);
                    if let Some(stub) = spare {
                        self.lead_away(&info, &exit, stub);
                    }
                }
            }
        }
    }

    /// `exit` leads to `hot`, and will not.
    fn remember(&mut self, hot: u32, exit: &Exit) {
        let known = self.led_away.iter().any(|led| led.hot == hot);
        if !known && self.fragment_entered_at(hot).is_none() {
            self.led_away.push(LedAway {
                hot,
                head: exit.target,
                context: exit.context,
            });
        }
    }

    /// Whether the fragment entered at `hot` is out of use.
    fn must_not_run(&self, hot: u32) -> bool {
        let group = self.unit.hot_group_at(hot);
        let refused = |group: CodeGroup| self.hot_gates[group.number as usize] == Gate::Refused;
        group.is_some_and(refused) || self.is_killed_at(hot)
    }

    /// Offset in the hot section that the branch of `exit` leads to.
    pub(super) fn branch_target(&self, info: &FragmentInfo, exit: &Exit) -> Option<u32> {
        let field = info.hot.start.checked_add(exit.branch)?;
        let behind = field
            .checked_add(4)
            .filter(|behind| *behind <= info.hot.end)?;
        let start = self.geometry.hot.start;
        let bytes = self.bytes(start + u64::from(field)..start + u64::from(behind));
        let distance = i32::from_le_bytes(bytes.try_into().ok()?);
        behind.checked_add_signed(distance)
    }

    /// A stub for exit number `number` of a fragment, if its branch can be led there.
    fn spare_for(
        &mut self,
        info: &FragmentInfo,
        number: u32,
        exit: &Exit,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Option<u64> {
        let given = Given {
            fragment: info.number,
            exit: number,
        };
        let aligned = self.branch_field(info, exit).is_multiple_of(4);
        aligned.then(|| self.give_spare(given, image, figures))?
    }

    fn branch_field(&self, info: &FragmentInfo, exit: &Exit) -> u64 {
        self.hot() + u64::from(info.hot.start) + u64::from(exit.branch)
    }

    /// Threads may be running there: the field is aligned, and changes in one piece.
    fn lead_away(&self, info: &FragmentInfo, exit: &Exit, stub: u64) {
        let field = self.branch_field(info, exit);
        // (Both lie in the unit, which is no longer than that reaches.)
        let distance = stub.wrapping_sub(field + 4) as u32;
        let page = mem::page_down(field);
        // SAFETY: a page of ours, whose code goes on running meanwhile; the field is in it
        // (`branch_target` read it), aligned, and written in one piece.
        unsafe {
            if mem::protect(page, mem::PAGE, mem::RWX).is_ok() {
                AtomicU32::from_ptr(field as *mut u32).store(distance, Ordering::Release);
                let _ = mem::protect(page, mem::PAGE, mem::RX);
            }
        }
    }
}
