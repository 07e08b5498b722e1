//! What a translated run finds in memory: the fragment, its slots, the thread area, and routines.

use super::side::buffer_start;
use super::{
    APP_GS, AREA, BUFFERS, BUNDLES, COLD, IMAGE_COUNTERS, Machine, RECORDS, SLOTS, THREAD, THUNKS,
};
use crate::common::routines::{ROUTINES, Routines, Sums};
use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::area::{Area, Calls, Entry, NEAR, NEAR_ENTRIES, RETURN_ENTRIES, RETURNS, Rseq};
use ppin_abi::buffers;
use ppin_abi::record::stub;
use ppin_api::Tool;
use ppin_relocator::{Fragment, Placement, SlotInit, apply, write_stubs};
use std::mem::offset_of;
use std::ptr;

impl Machine {
    /// Puts `fragment` where it runs, as the engine would, and the thread area into its first state.
    pub(super) fn install(&mut self, fragment: &Fragment) {
        let near = self.near as u64;
        let place = Placement {
            hot: near,
            cold: near + COLD + u64::from(stub::room(fragment.exits.len())),
            slots: near + SLOTS,
            image: ImageBase(self.app()),
            cells: BUNDLES,
        };
        self.clear();
        self.fill_area();
        self.install_routines();
        self.fill_tables();
        self.fill_slots(fragment, &place);
        let (hot, cold) = self.near_bytes().split_at_mut(COLD as usize);
        hot[..fragment.hot.len()].copy_from_slice(&fragment.hot);
        let exits = fragment.exits.len();
        let exit_slots = place.slots + 8 * fragment.slots.len() as u64;
        write_stubs(exits, place.stub(0, exits), exit_slots, cold).unwrap();
        let cold = &mut cold[stub::room(exits) as usize..];
        cold[..fragment.cold.len()].copy_from_slice(&fragment.cold);
        apply(fragment, &place, hot, cold).unwrap();
    }

    /// Nothing is left of another run. The buffers are empty.
    fn clear(&mut self) {
        let bytes = self.near_bytes();
        bytes[..BUFFERS as usize].fill(0xcc);
        bytes[AREA as usize..].fill(0);
        for buffer in 0..2 {
            let start = buffer_start(buffer);
            bytes[start..start + RECORDS].fill(0xcc);
            let cell = AREA as usize + buffers::cell(buffer) as usize;
            bytes[cell..cell + 4].copy_from_slice(&buffers::START.to_le_bytes());
        }
    }

    fn put(&mut self, at: usize, value: u64) {
        self.near_bytes()[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// What is short in the thread area.
    fn fill_area(&mut self) {
        let area = AREA as usize;
        self.put(area + offset_of!(Area, app_gs_base), self.app() + APP_GS);
        let returns = self.area() + u64::from(RETURNS);
        self.put(area + offset_of!(Area, returns_at), returns);
        let rseq = area + offset_of!(Area, rseq);
        self.put(rseq + offset_of!(Rseq, against), Rseq::NONE.against);
        self.put(rseq + offset_of!(Rseq, against_fs), Rseq::NONE.against_fs);
        for (index, routine) in self.host.routines.into_iter().enumerate() {
            self.put(area + offset_of!(Area, entry) + 8 * index, routine);
        }
    }

    /// The tables of returns and of indirect jumps, which say nothing.
    fn fill_tables(&mut self) {
        for (entry, table, cells) in [
            (Entry::Unpaired, RETURNS, RETURN_ENTRIES),
            (Entry::NotNear, NEAR, NEAR_ENTRIES),
        ] {
            let routine = self.host.routines[entry as usize].to_le_bytes();
            let table = AREA as usize + table as usize;
            let table = &mut self.near_bytes()[table..table + 8 * cells];
            for cell in table.chunks_exact_mut(8) {
                cell.copy_from_slice(&routine);
            }
        }
    }

    /// The slots of `fragment`, and those of its exits, none of which is linked.
    fn fill_slots(&mut self, fragment: &Fragment, place: &Placement) {
        let app = self.app();
        let at = |off: &ImageOff| app.wrapping_add_signed(i64::from(off.0));
        for (index, slot) in fragment.slots.iter().enumerate() {
            let value = match slot {
                SlotInit::App(off) => at(off),
                SlotInit::Landing(off) | SlotInit::Prediction(off) => at(off).wrapping_neg(),
                SlotInit::Entry => place.hot + u64::from(fragment.entry),
                SlotInit::Behind(off) | SlotInit::Case(off) => place.hot + u64::from(*off),
                SlotInit::Cold(off) => place.cold + u64::from(*off),
                SlotInit::ImageCounters => IMAGE_COUNTERS,
                SlotInit::Bundles(_) => BUNDLES,
            };
            self.put(SLOTS as usize + 8 * index, value);
        }
        let (first, count) = (
            SLOTS as usize + 8 * fragment.slots.len(),
            fragment.exits.len(),
        );
        for number in 0..count {
            let leave = place.stub(number, count) + u64::from(stub::LEAVE);
            self.put(first + 8 * number, leave);
        }
    }

    /// Plain routines, and what they need.
    fn install_routines(&mut self) {
        *self.sums = Sums::default();
        let state = std::ptr::from_mut(&mut *self.sums) as u64;
        let stack = self.stack.as_mut_ptr_range().end as u64;
        let code = Routines.code().expect("its own");
        let mut survey = ppin_lift::Survey::new(code);
        let mut cells = vec![
            (Calls::STACK, stack),
            (Calls::state(0), state),
            (Calls::THREAD, THREAD),
        ];
        let mut used = 0;
        for (n, routine) in (0..).zip(ROUTINES) {
            let function = routine.plain().expect("all are");
            let address = function.address() as u64;
            let arguments = function.parameters().as_slice().len();
            let thunk = {
                let result = (function.outcome(), Calls::RESULT);
                ppin_lift::thunk(survey.effects(address), arguments, result, address)
            };
            let mut entry = address;
            if let Some(thunk) = thunk {
                assert!(used + thunk.len() <= THUNKS);
                // SAFETY: inside the memory for thunks.
                let to = unsafe { self.thunks.add(used) };
                // SAFETY: as above; no code runs meanwhile.
                unsafe { ptr::copy_nonoverlapping(thunk.as_ptr(), to, thunk.len()) };
                entry = to as u64;
                used += thunk.len();
            }
            cells.extend([(Calls::routine(n), entry), (Calls::code(n), address)]);
        }
        for (disp, value) in cells {
            let at = AREA as usize + disp as usize;
            self.near_bytes()[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
}
