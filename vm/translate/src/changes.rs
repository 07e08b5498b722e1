//! Invalidation: keeps translations consistent with changes of the app's code, also outside the
//! code cache.

use crate::save;
use ppin_codecache::Dead;
use ppin_codecache::fresh::FragmentId;
use ppin_images::Region;
use ppin_process::gate::table;
use ppin_process::thread::reg;
use ppin_process::vm::Vm;

/// Discards the landings that lead into the `dead` fragments of restartable sequences.
fn discard_landings(vm: &mut Vm, mut dead: Dead) {
    while let Some(hot) = dead.pop() {
        for landing in vm.rseq_mut().discarded(hot) {
            let id = vm.code().fresh_at(landing);
            dead.extend(id.map(|id| vm.code_mut().discard(id)));
        }
    }
}

/// Takes fragment `id` out of use.
pub fn discard(vm: &mut Vm, id: FragmentId) {
    let dead = vm.code_mut().discard(id);
    discard_landings(vm, alloc::vec![dead]);
}

/// Code at `pc` is looked up: see [`ppin_codecache::CodeCache::come_back`].
pub fn come_back(vm: &mut Vm, pc: u64) {
    let dead = vm.code_mut().come_back(pc);
    discard_landings(vm, dead);
}

/// Makes sure that changes of the app bytes `pc .. pc + len` are noticed.
pub fn watch(vm: &mut Vm, region: &Region, pc: u64, len: u64) {
    if !region.writable || region.shared {
        return;
    }
    let live = is_live(vm, region);
    vm.code_mut().watch(region, pc, len, live);
    if vm.code().guards().span().is_some() {
        table::watch_fills();
    }
}

/// Whether the kernel may write to `region` at any moment, so that its pages cannot be guarded. It
/// may if the region is a stack, where libraries also keep structures that they have registered for
/// the thread (its rseq area, its id), or if it holds such a structure.
fn is_live(vm: &Vm, region: &Region) -> bool {
    let inside = |addr: u64| (region.start..region.end).contains(&addr);
    let mut threads = vm.threads().all();
    threads.any(|t| {
        let written = [t.rseq_call[0] as u64, t.clear_child_tid];
        inside(t.get(reg::RSP)) || written.into_iter().any(inside)
    })
}

/// Lifts all guards, so that the kernel can write to the pages; `false` if there are none.
pub fn release_all(vm: &mut Vm) -> bool {
    let any = vm.code().guards().guarded(0, u64::MAX).next().is_some();
    let dead = vm.code_mut().release_all();
    discard_landings(vm, dead);
    any
}

/// Lifts all guards for good, since a filter will soon forbid to set and lift them.
pub fn give_up_guards(vm: &mut Vm) {
    let dead = vm.code_mut().give_up_guards();
    discard_landings(vm, dead);
}

/// Lifts the guards in `start .. end`, to which the kernel is about to write.
pub fn give_back(vm: &mut Vm, start: u64, end: u64) {
    let dead = vm.code_mut().give_back(start, end);
    discard_landings(vm, dead);
}

/// Invalidates translations of `start .. end`, to which the kernel writes or has written for the
/// app.
pub fn written(vm: &mut Vm, start: u64, end: u64) {
    let dead = vm.code_mut().written(start, end);
    discard_landings(vm, dead);
}

/// Handles a store of the app to `addr` from cache address `pc` that has faulted. Returns whether a
/// guard was the cause; the store can then be repeated.
pub fn store(vm: &mut Vm, addr: u64, pc: u64) -> bool {
    let (ours, dead) = vm.code_mut().store(addr, pc);
    discard_landings(vm, dead);
    ours
}

/// Handles a fault of emitted code that compares its source at `pc` and could not read it at
/// `addr`.
pub fn unreadable(vm: &mut Vm, pc: u64, addr: u64) {
    let dead = vm.code_mut().unreadable(pc, addr);
    discard_landings(vm, dead);
}

/// Lifts the guards in `start .. end` for good, because the app is about to seal the memory
/// (mseal(2)).
pub fn unguard(vm: &mut Vm, start: u64, end: u64) {
    let dead = vm.code_mut().unguard(start, end);
    discard_landings(vm, dead);
}

/// Discards fragments made from app bytes in `start .. end`. Guards stay.
pub fn fragments(vm: &mut Vm, start: u64, end: u64) {
    let dead = vm.code_mut().kill_made_from(start, end);
    discard_landings(vm, dead);
}

/// Invalidates `start .. end`, which the app unmaps or replaces, or makes not executable. New
/// fragments of images there are saved first.
pub fn range(vm: &mut Vm, start: u64, end: u64) {
    if vm.code().has_code(start, end) {
        for id in vm.code().leaving(start, end) {
            save::freeze_image(vm, id);
        }
        vm.rseq_mut().unmapped(start, end);
    }
    let dead = vm.code_mut().gone(start, end);
    discard_landings(vm, dead);
}

/// Updates translations of `start .. end`, whose protection the app is about to change. Code of
/// files is invalidated if it will not be executable; generated code is taken out of use.
pub fn protected(vm: &mut Vm, start: u64, end: u64, executable: bool) {
    if vm.code().images().has_files(start, end) && !executable {
        return range(vm, start, end);
    }
    let dead = vm.code_mut().protected(start, end);
    discard_landings(vm, dead);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOP, RET, World};
    use ppin_abi::context::Context;
    use ppin_codecache::fresh::Fresh;
    use ppin_os::mem::PAGE;

    /// Whether code at the world's `offset` is in use.
    fn is_known(world: &World, offset: u64) -> bool {
        let known = world.vm.code().known(world.pc(offset), Context::CANONICAL);
        known.is_some_and(|id| Fresh::is_in_use(world.vm.code().fragment(id)))
    }

    #[test]
    fn a_store_of_the_app_discards_what_was_made_from_the_page() {
        let mut world = World::writable();
        world.put(0, &[NOP, RET]);
        world.put(PAGE, &[RET]);
        world.look_up(0);
        world.look_up(PAGE);
        let start = world.start;
        assert!(!store(&mut world.vm, start + 2 * PAGE, 0), "not guarded");
        assert!(store(&mut world.vm, start + 8, 0));
        assert!(!is_known(&world, 0) && is_known(&world, PAGE));
    }

    #[test]
    fn what_the_kernel_writes_discards_the_code_there() {
        let mut world = World::writable();
        world.put(0, &[RET]);
        world.look_up(0);
        let start = world.start;
        written(&mut world.vm, start + 64, start + 65);
        assert!(!is_known(&world, 0), "its page was given back");
        crate::testing::write(start, &[NOP, RET]);
        assert_eq!(world.len_at(0), 2);
    }

    #[test]
    fn pages_that_the_kernel_writes_to_at_any_moment_are_not_guarded() {
        let mut world = World::writable();
        let start = world.start;
        for offset in [0, PAGE, 2 * PAGE] {
            world.put(offset, &[RET]);
        }
        let volatile = |world: &mut World, offset| {
            let entry = world.look_up(offset);
            world.fresh(entry).context().contains(Context::VOLATILE)
        };
        assert!(!volatile(&mut world, 0));
        world.thread.regs.gpr[reg::RSP] = start + 8;
        assert!(volatile(&mut world, PAGE), "a stack");
        world.thread.regs.gpr[reg::RSP] = 0;
        world.thread.clear_child_tid = start + 8;
        assert!(
            volatile(&mut world, 2 * PAGE),
            "a thread's id is cleared there"
        );
    }

    #[test]
    fn without_guards_all_code_compares_itself() {
        let mut world = World::writable();
        world.put(0, &[RET]);
        world.look_up(0);
        assert!(release_all(&mut world.vm) && !release_all(&mut world.vm));
        assert!(!is_known(&world, 0));
        world.look_up(0);
        assert!(is_known(&world, 0), "it was guarded again");
        give_up_guards(&mut world.vm);
        let entry = world.look_up(0);
        assert!(world.fresh(entry).context().contains(Context::VOLATILE));
        assert!(!release_all(&mut world.vm));
    }

    #[test]
    fn unmapped_code_is_forgotten() {
        let mut world = World::read_only();
        world.put(0, &[RET]);
        world.put(PAGE, &[RET]);
        world.look_up(0);
        world.look_up(PAGE);
        let start = world.start;
        range(&mut world.vm, start, start + PAGE);
        assert!(!is_known(&world, 0) && is_known(&world, PAGE));
        assert!(world.vm.code().images().region(world.pc(0)).is_none());
        fragments(&mut world.vm, start + PAGE, start + PAGE + 1);
        assert!(!is_known(&world, PAGE));
        assert!(world.vm.code().images().region(world.pc(PAGE)).is_some());
    }
}
