//! Exits whose slots are as they lie in the file.
//!
//! Most of the exits that have slots are never taken, so these are not made right when code is admitted, and their pages are
//! shared by all processes. What lies there is no address, and the stub that jumps through it faults; what it
//! leads to is its own next instruction, from which the VM links the exit. With that the page is the
//! process's own, so the other slots of running code there are made right, too, and do not fault.

use super::bound::Bound;
use crate::cache::CodeCache;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::record::stub;
use ppin_os::mem;
use ppin_persist::SlotValue;

/// `jmp [rip + ...]`, and its length with the distance.
const JUMP: [u8; 2] = [0xff, 0x25];
const JUMP_LEN: u64 = stub::LEAVE as u64;

impl CodeCache {
    /// Where to go on at cache address `pc`, where a stub has faulted because the slot of its exit was as it lies in
    /// the file. It does not fault again. `None`: no stub jumps there.
    pub fn leave_unlinked(&mut self, pc: u64) -> Option<u64> {
        let (_, unit) = self.units.at(pc)?;
        unit.is_stub(pc).then(|| unit.settle_stub(pc)).flatten()
    }
}

impl Bound {
    fn settle_stub(&self, pc: u64) -> Option<u64> {
        let offset = pc - self.addr;
        let code = offset..(offset + JUMP_LEN).min(self.geometry.cold.end);
        let distance = self.bytes(code).strip_prefix(&JUMP)?;
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        let slot = (pc + JUMP_LEN).wrapping_add_signed(distance.into());
        let number = self.number_of_exit_slot(slot)?;
        // Another thread may have come here first: then the jump leads on.
        let stub = self.settle_exit(number).unwrap_or(pc);
        self.settle_within(mem::page_down(slot), mem::page_down(slot) + mem::PAGE);
        Some(stub)
    }

    /// Makes the exit slots from address `start` to `end` lead to their stubs, but for those of groups that do not
    /// run: what lies there is still to be compared with its checksum.
    fn settle_within(&self, start: u64, end: u64) {
        let first = self.exit_slots();
        for group in (0..self.unit.hot_groups()).filter(|group| self.is_open(*group)) {
            let range = self.unit.exit_slot_group(group).unwrap_or_default();
            let [from, to] = [range.start, range.end].map(|at| first + u64::from(at));
            for slot in (from.max(start)..to.min(end)).step_by(8) {
                self.settle_exit(((slot - first) / 8) as u32);
            }
        }
    }

    /// Makes exit slot `number` lead to its stub, if it is as in the file; where to.
    fn settle_exit(&self, number: u32) -> Option<u64> {
        let slot = self.exit_slots() + 8 * u64::from(number);
        // SAFETY: an aligned cell of the unit's, mapped as long as it is.
        let slot = unsafe { AtomicU64::from_ptr(slot as *mut u64) };
        let bits = slot.load(Ordering::Relaxed);
        let Some(SlotValue::Cold(offset)) = SlotValue::decode(bits) else {
            return None;
        };
        let stub = self.cold() + u64::from(offset);
        // (Another thread may have linked it.)
        let _ = slot.compare_exchange(bits, stub, Ordering::Relaxed, Ordering::Relaxed);
        Some(stub)
    }

    /// Makes all exits of running code lead to their stubs without a fault.
    pub(super) fn settle_exits(&self) {
        self.settle_within(self.exit_slots(), self.addr + self.geometry.exit_slots.end);
    }
}
