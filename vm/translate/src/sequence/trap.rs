//! Traps of translated sequences: a sequence was aborted, or its code has met a descriptor that it
//! does not know.

use super::{copies, landings, learn};
use crate::lookup::lookup;
use ppin_abi::addr::{AppPc, CachePc, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::record::{Trap, TrapRec};
use ppin_abi::spills::SpillSet;
use ppin_os::{peek, report};
use ppin_process::thread::{Thread, reg};
use ppin_process::translate;
use ppin_process::vm::{self, Vm};
use ppin_relocator::pc_flag;

/// Handles the trap `rec` at `thread.operand`, if it is one of a sequence.
pub fn trap(thread: &mut Thread, rec: &TrapRec) -> Option<CachePc> {
    let is = |kind: Trap| rec.kind == kind as u32;
    if !(is(Trap::RseqAbort)
        || is(Trap::RseqStore)
        || is(Trap::RseqEntry)
        || is(Trap::RseqUnsupported))
    {
        return None;
    }
    let mut locked = vm::lock();
    let vm = &mut *locked;
    let pc = ImageOff(rec.pc).at(vm.code().base_at(thread.operand));
    let context = Context(rec.context);
    if is(Trap::RseqUnsupported) {
        report::give_up(format_args!(
            "{pc}: this instruction cannot be followed in a restartable sequence"
        ))
    }
    if is(Trap::RseqAbort) {
        return Some(abort(vm, thread, pc, context));
    }
    thread.area.rseq.spilled = 0;
    Some(if is(Trap::RseqStore) {
        store(vm, thread, pc, context)
    } else {
        enter(vm, thread, pc, context)
    })
}

/// Handles an aborted sequence: restores spilled registers and continues at the abort handler.
fn abort(vm: &mut Vm, thread: &mut Thread, handler: AppPc, context: Context) -> CachePc {
    let rseq = &mut thread.area.rseq;
    let spilled = SpillSet::at_home(core::mem::take(&mut rseq.spilled) as u8);
    rseq.armed = 0;
    thread.regs.gpr[reg::RCX] = rseq.rcx;
    for (slot, register) in spilled.iter() {
        thread.regs.gpr[usize::from(register)] = thread.area.spill[slot.number()];
    }
    lookup(vm, handler, context)
}

/// Handles a store of the app to its field at `pc`. If the store belongs to the sequence that it
/// announces, the translated sequence makes it; otherwise it is made here.
fn store(vm: &mut Vm, thread: &mut Thread, pc: AppPc, context: Context) -> CachePc {
    let value = thread.area.rseq.value;
    let left = StorePlace::at(vm, thread.operand, pc);
    let sequence = learn::descriptor(vm, value);
    let context = left
        .as_ref()
        .map_or(context, |left| left.context(vm, context));
    if let Some(sequence) = sequence
        && let Some(entry) = copies::entry(vm, pc, context)
        && let Some(n) = landings::owner(vm, entry.0)
        && vm.rseq().copy(n).sequence == sequence
    {
        correct_counters(thread, left.as_ref(), 0);
        copies::expect(vm, n, value);
        return entry;
    }
    let mut bytes = [0; 15];
    let len = peek::read(pc.0, &mut bytes);
    let len = ppin_jit::length(pc, &bytes[..len]).unwrap_or(0);
    if !peek::write_value(thread.area.rseq.field, &value) {
        report::give_up(format_args!("{pc}: the thread's rseq area is not writable"))
    }
    correct_counters(thread, left.as_ref(), len);
    lookup(vm, pc.wrapping_add(u64::from(len)), behind(vm, context))
}

/// The context of the code after an instruction that does not end its block.
fn behind(vm: &Vm, context: Context) -> Context {
    let context = context.without(Context::CONTINUATION);
    if vm.tool().distinguishes_blocks() {
        context.with(Context::CONTINUATION)
    } else {
        context
    }
}

/// Handles a descriptor in the field that the head of a sequence, or a landing in it, does not
/// know.
fn enter(vm: &mut Vm, thread: &mut Thread, pc: AppPc, context: Context) -> CachePc {
    let hot = copies::hot_of(vm, thread.operand);
    let (Some(n), Some(hot)) = (landings::owner(vm, thread.operand), hot) else {
        return lookup(vm, pc, context);
    };
    let field = thread.area.rseq.field;
    let value = peek::read_value(field).unwrap_or(0);
    let ours = vm.rseq().of_descriptor(value).is_some();
    let sequence = copies::described(vm, value);
    if sequence == Some(vm.rseq().copy(n).sequence) && !ours {
        copies::expect(vm, n, value);
        return CachePc(hot);
    }
    if ours && sequence != Some(vm.rseq().copy(n).sequence) {
        // (The thread has left that sequence; the kernel would clear the field when it notices.)
        let _ = peek::write_value(field, &0_u64);
    }
    // (`copies::arrive` replaces the descriptor.)
    copies::boundary(vm, n, pc).unwrap_or(CachePc(hot))
}

/// The place inside a fragment at which a store has trapped.
struct StorePlace {
    maps: translate::Maps,
    /// Hot offset of the pc-map row of the trap.
    offset: u32,
    /// App bytes from the fragment's head to the store.
    app: u32,
    block_start: bool,
}

impl StorePlace {
    fn at(vm: &Vm, record: u64, pc: AppPc) -> Option<Self> {
        let fresh = vm.code().fragment_at(record)?;
        let app = pc.0.wrapping_sub(fresh.pc().0) as u32;
        let mine = || fresh.code().pc_map.iter().filter(|row| row.app == app);
        let spilled = mine().filter(|row| !row.spilled.is_empty());
        let offset = spilled.last()?.hot;
        let start = |flags: u8| flags & pc_flag::BOUNDARY != 0 && flags & pc_flag::BLOCK != 0;
        let block_start = mine().any(|row| start(row.flags));
        Some(Self {
            maps: vm.code().maps_at(fresh.entry().0)?,
            offset,
            app,
            block_start,
        })
    }

    /// The context in which the store is translated again.
    fn context(&self, vm: &Vm, context: Context) -> Context {
        let context = context.without(Context::CONTINUATION);
        let goes_on = self.app == 0 && self.maps.context.contains(Context::CONTINUATION);
        if vm.tool().distinguishes_blocks() && (goes_on || !self.block_start) {
            context.with(Context::CONTINUATION)
        } else {
            context
        }
    }
}

/// Corrects the counters to what has run: up to the store, or including its `done` bytes.
fn correct_counters(thread: &mut Thread, left: Option<&StorePlace>, done: u32) {
    if let Some(left) = left {
        let app = left.app + done;
        let corrections = translate::corrections(&left.maps, left.offset, app);
        translate::correct(thread, &corrections);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sequence::{ABORT, ANNOUNCED, DESCRIPTOR, START, world};
    use crate::testing::{RET, write};

    #[test]
    fn an_aborted_sequence_has_its_registers_back() {
        let mut world = world();
        let handler = world.pc(ABORT);
        let (vm, thread) = (&mut world.vm, &mut *world.thread);
        thread.area.rseq.spilled = 0b1001;
        thread.area.rseq.armed = 1;
        thread.area.rseq.rcx = 77;
        let home: alloc::vec::Vec<_> = SpillSet::at_home(0b1001).iter().collect();
        for (slot, register) in &home {
            thread.area.spill[slot.number()] = 100 + u64::from(*register);
        }
        let entry = abort(vm, thread, handler, Context::CANONICAL);
        for (_, register) in &home {
            assert_eq!(
                thread.get(usize::from(*register)),
                100 + u64::from(*register)
            );
        }
        assert_eq!(home.len(), 2);
        let rest = (
            thread.get(reg::RCX),
            thread.area.rseq.spilled,
            thread.area.rseq.armed,
        );
        let rcx = home.iter().any(|(_, r)| usize::from(*r) == reg::RCX);
        assert_eq!(rest, (if rcx { 101 } else { 77 }, 0, 0));
        assert_eq!(world.fresh(entry).pc(), handler);
    }

    /// `mov [rdi], rax; ret` in front of a sequence that it may announce.
    const STORE: u64 = START - 3;

    #[test]
    fn a_store_that_announces_nothing_is_made_by_the_vm() {
        let mut world = world();
        world.put(STORE + 0x40, &[0x48, 0x89, 0x07, RET]);
        let (pc, field) = (world.pc(STORE + 0x40), world.start + 0x800);
        write(field, &[0xff; 8]);
        world.thread.operand = world.look_up(STORE + 0x40).0;
        world.thread.area.rseq.field = field;
        world.thread.area.rseq.value = 0x1234_5678;
        let entry = store(&mut world.vm, world.thread, pc, Context::CANONICAL);
        assert_eq!(peek::read_value(field), Some(0x1234_5678_u64));
        let spot = world.vm.code().spot(entry.0).expect("hot code");
        assert_eq!(spot.pc, pc.wrapping_add(3), "behind the store");
    }

    #[test]
    fn a_store_that_announces_a_sequence_is_made_by_its_translation() {
        let mut world = world();
        world.put(STORE, &[0x48, 0x89, 0x07]);
        world.look_up(ANNOUNCED);
        let (pc, field) = (world.pc(STORE), world.start + 0x800);
        let descriptor = world.start + DESCRIPTOR;
        write(field, &[0; 8]);
        world.thread.operand = world.look_up(STORE).0;
        world.thread.area.rseq.field = field;
        world.thread.area.rseq.value = descriptor;
        let entry = store(&mut world.vm, world.thread, pc, Context::CANONICAL);
        assert_eq!(peek::read_value(field), Some(0_u64), "not by the VM");
        let n = landings::owner(&world.vm, entry.0).expect("a translation");
        let expected = world.vm.rseq().copy(n).expected;
        assert_eq!(peek::read_value(expected), Some(descriptor.wrapping_neg()));
    }
}
