//! What a translated run finds in memory: the fragment, its slots, the thread area, and routines.

use super::side::buffer_start;
use super::{
    APP_GS, AREA, BUFFERS, BUNDLES, COLD, IMAGE_COUNTERS, Machine, RECORDS, SLOTS, THREAD, THUNKS,
};
use crate::common::routines::{ROUTINES, Routines, Sums};
use ppin_abi::addr::ImageBase;
use ppin_abi::area::{Area, Calls, Entry, NEAR, NEAR_ENTRIES, RETURN_ENTRIES, RETURNS, Rseq};
use ppin_abi::buffers;
use ppin_abi::record::stub;
use ppin_api::Tool;
use ppin_relocator::{Fragment, Placement, SlotInit, apply};
use std::mem::offset_of;
use std::ptr;

impl Machine {
    /// Puts `fragment` where it runs, as the engine would, and the thread area into its first state.
    pub(super) fn install(&mut self, fragment: &Fragment) {
        let near = self.near as u64;
        let (cold, area) = (near + COLD, AREA as usize);
        let place = Placement {
            hot: near,
            cold,
            slots: near + SLOTS,
            exit_slots: near + SLOTS + 8 * fragment.slots.len() as u64,
            image: ImageBase(self.app()),
            cells: BUNDLES,
        };
        let routines = self.host.routines;
        let app = self.app();
        let bytes = self.near_bytes();
        bytes[..BUFFERS as usize].fill(0xcc);
        bytes[area..].fill(0);
        for buffer in 0..2 {
            let start = buffer_start(buffer);
            bytes[start..start + RECORDS].fill(0xcc);
            let cell = area + buffers::cell(buffer) as usize;
            bytes[cell..cell + 4].copy_from_slice(&buffers::START.to_le_bytes());
        }
        let gs = area + offset_of!(Area, app_gs_base);
        bytes[gs..gs + 8].copy_from_slice(&(app + APP_GS).to_le_bytes());
        let returns_at = area + offset_of!(Area, returns_at);
        let returns = near + AREA + u64::from(RETURNS);
        bytes[returns_at..returns_at + 8].copy_from_slice(&returns.to_le_bytes());
        let against = area + offset_of!(Area, rseq) + offset_of!(Rseq, against);
        let nothing = [Rseq::NONE.against, Rseq::NONE.against_fs].map(u64::to_le_bytes);
        bytes[against..against + 16].copy_from_slice(nothing.as_flattened());
        self.install_routines();
        let bytes = self.near_bytes();
        let entry = area + offset_of!(Area, entry);
        for (index, routine) in routines.iter().enumerate() {
            bytes[entry + 8 * index..][..8].copy_from_slice(&routine.to_le_bytes());
        }
        for (entry, table, cells) in [
            (Entry::Unpaired, RETURNS, RETURN_ENTRIES),
            (Entry::NotNear, NEAR, NEAR_ENTRIES),
        ] {
            let routine = routines[entry as usize].to_le_bytes();
            let table = area + table as usize;
            for cell in bytes[table..table + 8 * cells].chunks_exact_mut(8) {
                cell.copy_from_slice(&routine);
            }
        }
        for (index, slot) in fragment.slots.iter().enumerate() {
            let value = match slot {
                SlotInit::App(off) => app.wrapping_add_signed(i64::from(off.0)),
                SlotInit::Landing(off) => app.wrapping_add_signed(i64::from(off.0)).wrapping_neg(),
                SlotInit::Prediction(off) => {
                    app.wrapping_add_signed(i64::from(off.0)).wrapping_neg()
                }
                SlotInit::Entry => near + u64::from(fragment.entry),
                SlotInit::Cold(off) => cold + u64::from(*off),
                SlotInit::ImageCounters => IMAGE_COUNTERS,
                SlotInit::Bundles(_) => BUNDLES,
            };
            bytes[SLOTS as usize + 8 * index..][..8].copy_from_slice(&value.to_le_bytes());
        }
        for number in 0..fragment.exits.len() {
            let leave = cold + u64::from(stub::at(number) + stub::LEAVE);
            let slot = (place.exit_slots - near) as usize + 8 * number;
            bytes[slot..slot + 8].copy_from_slice(&leave.to_le_bytes());
        }
        let (hot_part, cold_part) = bytes.split_at_mut(COLD as usize);
        hot_part[..fragment.hot.len()].copy_from_slice(&fragment.hot);
        cold_part[..fragment.cold.len()].copy_from_slice(&fragment.cold);
        apply(fragment, &place, hot_part, cold_part).unwrap();
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
