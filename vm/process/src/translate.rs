//! Translates a cache address to the app state at it (DynamoRIO's state translation).

use crate::thread::Thread;
use crate::vm::Vm;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;

pub use ppin_codecache::spot::{Corrections, Maps, Spot, corrections, is_ahead, spot_in};

/// The app instruction that `address` (hot code) belongs to.
#[must_use]
pub fn spot(vm: &Vm, address: u64) -> Option<Spot> {
    vm.code().spot(address)
}

/// The app state of an instruction at `pc` that ran natively, since the fragment at `entry` only
/// traps for it.
#[must_use]
pub fn spot_at_trap(vm: &Vm, entry: u64, pc: AppPc) -> Spot {
    let maps = vm.code().maps_at(entry);
    Spot {
        context: maps.as_ref().map_or(Context::CANONICAL, |m| m.context),
        corrections: maps.map_or_else(Corrections::new, |m| corrections(&m, u32::MAX, 0)),
        ..Spot::at(pc)
    }
}

/// Adds `corrections` to the counters of `thread`.
pub fn correct(thread: &mut Thread, corrections: &Corrections) {
    for (disp, amount) in corrections {
        let cell = (thread.area.self_ptr + disp) as *mut i64;
        // SAFETY: a counter of this thread, which is not running emitted code now.
        unsafe { cell.write(cell.read().wrapping_add(*amount)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use ppin_abi::counters::CELLS;

    #[test]
    fn corrections_are_added_to_the_counters_of_the_thread() {
        let [thread, other] = [0, 1].map(testing::thread);
        let disp = |n: u64| u64::from(CELLS) + 8 * n;
        correct(
            thread,
            &[(disp(1), 5), (disp(1), -3), (disp(2), 4), (disp(2), 1)]
                .into_iter()
                .collect(),
        );
        assert_eq!([1, 2].map(|n| thread.counter(disp(n))), [2, 5]);
        assert_eq!(other.counter(disp(2)), 0);
    }

    #[test]
    fn an_instruction_without_a_translation_has_no_corrections() {
        let spot = spot_at_trap(&testing::vm(), 0x1234, AppPc(0x77));
        assert_eq!((spot.pc, spot.context), (AppPc(0x77), Context::CANONICAL));
        assert!(spot.corrections.is_empty());
    }
}
