//! Entering a fragment in the middle, at the app instruction at which it was left.
//!
//! A signal may arrive between any two instructions. If the thread's return had to be translated
//! from there, fragments would be made (and persisted) that begin at places which depend on time,
//! and other ones in the next run.

use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::boot::flag;
use ppin_abi::context::Context;
use ppin_abi::spills::SpillSet;
use ppin_process::buffers;
use ppin_process::thread::Thread;
use ppin_process::translate::{self, Maps, Spot};
use ppin_process::vm::Vm;
use ppin_relocator::{PcRow, pc_flag};

/// A boundary inside a fragment.
#[derive(Debug)]
pub(crate) struct Inside {
    entry: CachePc,
    /// Counts that the code before the boundary has added for instructions after it.
    ahead: translate::Corrections,
    /// Registers that the code has in slots there.
    spilled: SpillSet,
}

impl Inside {
    /// The boundary of the app instruction at `pc` in the fragment that holds cache
    /// address `code`, if that may still run. Records that were stored before it may be lost by
    /// now.
    #[must_use]
    pub(crate) fn find(vm: &Vm, thread: &Thread, code: u64, pc: AppPc) -> Option<Self> {
        if !buffers::have_room(thread) {
            return None;
        }
        if vm.config().flags & flag::LOCKSTEP != 0 {
            return None;
        }
        if ppin_translate::sequence::is_inside(vm, code) {
            // (Sequences are entered through `sequence::arrive` only.)
            return None;
        }
        let maps = vm.code().running_maps(code)?;
        let row = boundary(&maps, pc).filter(|row| !translate::is_ahead(row))?;
        if row.flags & pc_flag::DECIDED != 0 {
            // (Handlers may have changed what was decided by.)
            return None;
        }
        let mut ahead = translate::corrections(&maps, row.hot, row.app);
        for (_, amount) in &mut ahead {
            *amount = -*amount;
        }
        let entry = CachePc(maps.hot + u64::from(row.hot));
        Some(Self {
            entry,
            ahead,
            spilled: row.spilled,
        })
    }

    /// Sets the counters of `thread`, which are exact, and the slots to what the code expects. The thread will have
    /// these `registers`, by hardware number. Returns the cache address to enter.
    #[must_use]
    pub(crate) fn enter(self, thread: &mut Thread, registers: impl Fn(usize) -> u64) -> CachePc {
        translate::correct(thread, &self.ahead);
        thread.fill_slots(self.spilled, registers);
        self.entry
    }
}

fn boundary(maps: &Maps, pc: AppPc) -> Option<PcRow> {
    if maps.context.contains(Context::VOLATILE) {
        return None;
    }
    row_of(maps, pc)
}

fn row_of(maps: &Maps, pc: AppPc) -> Option<PcRow> {
    let at = |row: &&PcRow| maps.head.wrapping_add(u64::from(row.app)) == pc;
    let whole = |row: &&PcRow| row.flags & pc_flag::BOUNDARY != 0;
    maps.rows.iter().filter(at).find(whole).copied()
}

/// The app state at the boundary of `pc` in the fragment whose record lies at `record`.
#[must_use]
pub(crate) fn boundary_of(vm: &Vm, record: u64, pc: AppPc) -> Option<Spot> {
    let maps = vm.code().maps_at(vm.code().hot_of(record)?)?;
    let row = row_of(&maps, pc)?;
    translate::spot_in(&maps, maps.hot + u64::from(row.hot))
}
