//! Changes of the app's code, and what depends on translations besides the code cache.

use crate::save;
use ppin_codecache::Dead;
use ppin_codecache::fresh::FragmentId;
use ppin_codecache::image::Region;
use ppin_process::gate::table;
use ppin_process::thread::reg;
use ppin_process::vm::Vm;

/// What has died takes the landings of restartable sequences with it.
fn bury(vm: &mut Vm, mut dead: Dead) {
    while let Some(hot) = dead.pop() {
        for landing in vm.rseq.discarded(hot) {
            let id = vm.code.fresh_at(landing);
            dead.extend(id.map(|id| vm.code.discard(id)));
        }
    }
}

/// Takes fragment `id` out of use.
pub fn discard(vm: &mut Vm, id: FragmentId) {
    let dead = vm.code.discard(id);
    bury(vm, alloc::vec![dead]);
}

/// Code at `pc` is sought: see [`ppin_codecache::CodeCache::come_back`].
pub fn come_back(vm: &mut Vm, pc: u64) {
    let dead = vm.code.come_back(pc);
    bury(vm, dead);
}

/// Sees to it that changes of `pc .. pc + len` are noticed.
pub fn watch(vm: &mut Vm, region: &Region, pc: u64, len: u64) {
    if !region.writable || region.shared {
        return;
    }
    let live = is_live(vm, region);
    vm.code.watch(region, pc, len, live);
    if vm.code.guards.span().is_some() {
        table::watch_fills();
    }
}

/// Whether the kernel may write to `region` at any moment, which no guard survives: it is
/// a stack, where libraries also keep what they have registered for the thread (its rseq
/// area, its id); or it holds these elsewhere.
fn is_live(vm: &Vm, region: &Region) -> bool {
    let inside = |addr: u64| (region.start..region.end).contains(&addr);
    let mut threads = vm.threads.all();
    threads.any(|t| {
        let written = [t.rseq_call[0] as u64, t.clear_child_tid];
        inside(t.get(reg::RSP)) || written.into_iter().any(inside)
    })
}

/// Gives every guarded page back, for the kernel to write to; `false` if we hold none.
pub fn release_all(vm: &mut Vm) -> bool {
    let any = vm.code.guards.guarded(0, u64::MAX).next().is_some();
    let dead = vm.code.release_all();
    bury(vm, dead);
    any
}

/// Guards can soon be neither set nor lifted.
pub fn give_up_guards(vm: &mut Vm) {
    let dead = vm.code.give_up_guards();
    bury(vm, dead);
}

/// The kernel is about to write to `start .. end`: pages there are given back.
pub fn give_back(vm: &mut Vm, start: u64, end: u64) {
    let dead = vm.code.give_back(start, end);
    bury(vm, dead);
}

/// The kernel writes, or has written, to `start .. end` on the app's behalf.
pub fn written(vm: &mut Vm, start: u64, end: u64) {
    let dead = vm.code.written(start, end);
    bury(vm, dead);
}

/// The app stores to `addr` from cache address `pc`. Returns whether the fault was our doing;
/// the store can then be repeated.
pub fn store(vm: &mut Vm, addr: u64, pc: u64) -> bool {
    let (ours, dead) = vm.code.store(addr, pc);
    bury(vm, dead);
    ours
}

/// Emitted code that compares its source at `pc` could not read it at `addr`.
pub fn unreadable(vm: &mut Vm, pc: u64, addr: u64) {
    let dead = vm.code.unreadable(pc, addr);
    bury(vm, dead);
}

/// The app is about to make the protection of `start .. end` final: what is guarded there is
/// given back for good.
pub fn unguard(vm: &mut Vm, start: u64, end: u64) {
    let dead = vm.code.unguard(start, end);
    bury(vm, dead);
}

/// Takes out of use what was made from app bytes in `start .. end`. Guards stand.
pub fn fragments(vm: &mut Vm, start: u64, end: u64) {
    let dead = vm.code.kill_made_from(start, end);
    bury(vm, dead);
}

/// The app has unmapped or replaced `start .. end`, or made it not executable.
pub fn range(vm: &mut Vm, start: u64, end: u64) {
    if vm.code.has_code(start, end) {
        for id in vm.code.leaving(start, end) {
            save::freeze_image(vm, id);
        }
        vm.rseq.unmapped(start, end);
    }
    let dead = vm.code.gone(start, end);
    bury(vm, dead);
}

/// The app is about to set the protection of `start .. end` anew. Code of files is forgotten if
/// it is not to be executed any more; generated code is taken out of use.
pub fn protected(vm: &mut Vm, start: u64, end: u64, executable: bool) {
    if vm.code.images.has_files(start, end) && !executable {
        return range(vm, start, end);
    }
    let dead = vm.code.protected(start, end);
    bury(vm, dead);
}
