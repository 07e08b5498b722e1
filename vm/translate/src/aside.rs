//! Code in the middle of a trace ([`ppin_relocator::side_entrances`]): what leads there goes there, and is not
//! translated once more.

use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::boot::flag;
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_process::vm::Vm;

/// Whether traces of this run are entered in the middle: not if a tool is told of their heads, or a tracer steps
/// through them.
pub(crate) fn enters(vm: &Vm) -> bool {
    let config = vm.config();
    let alone = config.tools.is_empty() && config.flags & flag::LOCKSTEP == 0;
    alone && config.optimize.has(Optimize::ENTRANCES)
}

/// Whether the translation of `pc` under `context` may lie in the middle of a trace.
pub(crate) fn may_enter(vm: &Vm, pc: AppPc, context: Context) -> bool {
    context == Context::CANONICAL && enters(vm) && vm.rseq().near(pc).is_empty()
}

/// Where fresh code in the middle of a trace is entered that is the translation of `pc` under `context`.
pub(crate) fn entrance(vm: &mut Vm, pc: AppPc, context: Context) -> Option<CachePc> {
    let may = may_enter(vm, pc, context);
    may.then(|| vm.code_mut().side_entrance(pc)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::lookup_indirect;
    use crate::save::at_end;
    use crate::testing::disk::{CODE, Disk};
    use crate::testing::{NOP, RET, World};
    use ppin_os::peek;

    /// `nop; dec ecx; jnz` to the `dec`; `ret`
    const LOOP: [u8; 6] = [NOP, 0xff, 0xc9, 0x75, 0xfc, RET];
    const INSIDE: u64 = CODE + 1;

    /// What the trace at the beginning is entered by behind its head.
    fn inside(world: &mut World) -> CachePc {
        let head = world.look_up(CODE);
        let entry = world.look_up(INSIDE);
        let spot = world.vm.code().spot(entry.0).expect("hot code");
        assert_eq!((spot.pc, spot.boundary), (world.pc(INSIDE), true));
        assert_eq!(
            world.vm.code().fresh_at(entry.0),
            world.vm.code().fresh_at(head.0)
        );
        entry
    }

    #[test]
    fn the_middle_of_a_trace_is_not_translated_once_more() {
        let disk = Disk::new(&LOOP);
        let mut world = disk.run();
        let entry = inside(&mut world);
        assert_eq!(world.compiled(), 1);
        let slot = world.fresh(entry).space().slots;
        let leads: Option<u64> = peek::read_value(slot);
        assert_eq!(leads, Some(entry.0), "the loop goes round without the VM");
        let within = world.look_up(CODE + 2);
        assert_eq!(
            world.fresh(within).pc(),
            world.pc(CODE + 2),
            "another instruction"
        );
    }

    #[test]
    fn where_an_indirect_branch_leads_a_trace_begins() {
        let disk = Disk::new(&LOOP);
        let mut world = disk.run();
        let entry = inside(&mut world);
        let pc = world.pc(INSIDE);
        let own = lookup_indirect(&mut world.vm, pc);
        assert_ne!(own, entry);
        assert_eq!(world.fresh(own).pc(), pc);
        assert_eq!(world.look_up(INSIDE), own);
    }

    #[test]
    fn under_a_tracer_each_trace_is_entered_at_its_head() {
        let disk = Disk::new(&LOOP);
        let mut world = disk.run_with(flag::LOCKSTEP);
        world.look_up(CODE);
        let entry = world.look_up(INSIDE);
        assert_eq!(world.fresh(entry).pc(), world.pc(INSIDE));
    }

    #[test]
    fn the_next_run_enters_kept_code_in_the_middle() {
        let disk = Disk::new(&LOOP);
        let mut first = disk.run();
        first.look_up(CODE);
        at_end(&mut first.vm);
        let mut second = disk.run();
        let entry = second.look_up(INSIDE);
        assert_eq!(second.compiled(), 0);
        let spot = second.vm.code().spot(entry.0).expect("hot code");
        assert_eq!((spot.pc, spot.boundary), (second.pc(INSIDE), true));
    }
}
