//! What a unit can do before it is asked: hints say that it will be.

use super::bound::{Bound, ColdGate};
use crate::cache::CodeCache;
use ppin_abi::addr::{AppPc, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::record::ExitRec;

/// A direct exit of persisted code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownExit {
    /// Its record.
    pub record: ExitRec,
    /// Where the app goes.
    pub target: AppPc,
    /// The context it goes there with.
    pub context: Context,
}

impl CodeCache {
    /// Admits the group that holds cache address `addr`, if there is one and it may run.
    pub fn admit_ahead(&mut self, addr: u64) {
        let Some((id, _)) = self.units.at(addr) else {
            return;
        };
        let image = self.images.home(id);
        let unit = self.units.of_mut(id).iter_mut().find(|u| u.contains(addr));
        if let Some(unit) = unit {
            unit.admit_at(addr, image, &mut self.figures, &mut self.ibl);
        }
    }

    /// The exit whose record lies at cache address `addr`, if there is one in a unit, and its stub
    /// may run. Nothing is assumed of `addr`.
    #[must_use]
    pub fn exit_at(&self, addr: u64) -> Option<KnownExit> {
        let (id, unit) = self.units.at(addr)?;
        let record = unit.exit_record(addr)?;
        Some(KnownExit {
            record,
            target: ImageOff(record.target).at(self.images.get(id).base),
            context: record.context(),
        })
    }
}

impl Bound {
    /// The record at `addr`, if an exit of the fragment there says the same as it.
    fn exit_record(&self, addr: u64) -> Option<ExitRec> {
        let offset = u32::try_from(addr.checked_sub(self.cold())?).ok()?;
        let group = self.unit.cold_group_at(offset)?;
        if self.cold_gates[group.number as usize] != ColdGate::Open {
            return None;
        }
        let info = self.unit.fragment_at_cold(offset).ok()??;
        let inside = u64::from(offset - info.cold.start);
        if u64::from(info.cold.end - info.cold.start) < inside + size_of::<ExitRec>() as u64 {
            return None;
        }
        // SAFETY: inside the fragment's cold code, which is readable; any bytes are a record.
        let record = unsafe { (addr as *const ExitRec).read_unaligned() };
        let slot = addr.wrapping_add_signed(record.slot.into());
        let number = self.number_of_exit_slot(slot)?;
        let exits = self.unit.exits(info.number).ok()?.flatten();
        let mut exits = (info.exits.start..).zip(exits);
        let same = exits.any(|(own, exit)| {
            own == number && (exit.target.0, exit.context) == (record.target, record.context())
        });
        same.then_some(record)
    }
}
