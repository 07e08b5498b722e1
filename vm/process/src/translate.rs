//! From a cache address to the app state it stands for.

use crate::thread::Thread;
use crate::vm::Vm;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;

pub use ppin_codecache::spot::{Corrections, Maps, Spot, corrections, spot_in};

/// What app instruction `address` (hot code) belongs to.
#[must_use]
pub fn spot(vm: &Vm, address: u64) -> Option<Spot> {
    vm.code.spot(address)
}

/// The state of an instruction at `pc` that was not translated but run natively, from
/// the fragment at `entry` that stands for it.
#[must_use]
pub fn spot_at_trap(vm: &Vm, entry: u64, pc: AppPc) -> Spot {
    let maps = vm.code.maps_at(entry);
    Spot {
        context: maps.as_ref().map_or(Context::CANONICAL, |m| m.context),
        corrections: maps.map_or_else(Corrections::new, |m| corrections(&m, u32::MAX, 0)),
        ..Spot::at(pc)
    }
}

/// Makes `corrections` to the counters of `thread`.
pub fn correct(thread: &mut Thread, corrections: &Corrections) {
    for (disp, amount) in corrections {
        let cell = (thread.area.self_ptr + disp) as *mut i64;
        // SAFETY: a counter of this thread, which is not running emitted code now.
        unsafe { cell.write(cell.read().wrapping_add(*amount)) };
    }
}
