//! Translations of restartable sequences.
//!
//! A sequence is entered at its head: the store that announces it, if that is the instruction
//! before its start, otherwise its start. At other instructions it is entered through a
//! [landing](super::landings), or through the VM: no fragment is linked to them.

use super::{landings, learn};
use crate::changes;
use crate::compile::{self, install};
use alloc::vec;
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, CachePc, ImageRange};
use ppin_abi::area::Rseq;
use ppin_abi::context::Context;
use ppin_abi::spills::SpillSet;
use ppin_codecache::fresh::Kind;
use ppin_jit::{BytesEnd, Request, Sequence, SequenceCode};
use ppin_os::peek;
use ppin_process::sequences::Copy;
use ppin_process::thread::Thread;
use ppin_process::translate::{self, Spot};
use ppin_process::vm::Vm;
use ppin_relocator::{PcRow, Shape, pc_flag};

/// The translation of `pc` under `context`, if it belongs to a sequence.
pub fn entry(vm: &mut Vm, pc: AppPc, context: Context) -> Option<CachePc> {
    if vm.rseq().known() == 0 {
        return None;
    }
    let (sequence, head) = head(vm, pc)?;
    // A sequence runs in one piece, so the VM compares its source, not the emitted code.
    let blind = Context::CAREFUL.without(Context::VOLATILE);
    let context = context.without(blind);
    let n = match live(vm, &sequence, pc, context) {
        Some(n) => n,
        None => translate(vm, sequence, head, context)?,
    };
    let copy = vm.rseq().copy(n);
    if copy.head == pc {
        return Some(CachePc(copy.hot));
    }
    landings::to(vm, n, pc)
}

/// The sequence that `pc` belongs to, and the head of a translation for it.
fn head(vm: &Vm, pc: AppPc) -> Option<(Sequence, AppPc)> {
    const LONGEST_STORE: u64 = 15;
    if let Some(sequence) = vm.rseq().holding(pc) {
        return Some((sequence, sequence.start));
    }
    let sequence = vm.rseq().ahead(pc, LONGEST_STORE)?;
    let mut bytes = [0; LONGEST_STORE as usize];
    let len = peek::read(pc.0, &mut bytes);
    ppin_jit::announces(pc, &bytes[..len], sequence.start).then_some((sequence, pc))
}

/// The index of a translation in use that `pc` can be entered in.
fn live(vm: &mut Vm, sequence: &Sequence, pc: AppPc, context: Context) -> Option<usize> {
    let n = vm.rseq().live(sequence, pc, context)?;
    if context.contains(Context::VOLATILE) {
        let id = vm.code().fresh_at(vm.rseq().copy(n).hot)?;
        if !compile::unchanged(vm.code().fragment(id)) {
            changes::discard(vm, id);
            return None;
        }
    }
    Some(n)
}

/// Cache address of the instruction at `pc` in copy `n`.
pub(super) fn boundary(vm: &Vm, n: usize, pc: AppPc) -> Option<CachePc> {
    let copy = vm.rseq().copy(n);
    let rows = &vm.code().fragment_at(copy.hot)?.code().pc_map;
    let app = pc.0.wrapping_sub(copy.head.0);
    let boundary = |row: &PcRow| u64::from(row.app) == app && row.flags & pc_flag::BOUNDARY != 0;
    let row = rows.iter().filter(boundary).last()?;
    Some(CachePc(copy.hot + u64::from(row.hot)))
}

/// Translates `sequence` from `head` on; returns the index of the new copy.
fn translate(vm: &mut Vm, sequence: Sequence, head: AppPc, context: Context) -> Option<usize> {
    let region = ppin_process::app_code::region(vm, head)?;
    let len = (sequence.end.0 - head.0) as usize;
    changes::watch(vm, &region, head.0, len as u64);
    let mut bytes = vec![0; len];
    if peek::read(head.0, &mut bytes) != len {
        return None;
    }
    let request = Request {
        pc: head,
        image: vm.code().images().get(region.image).base,
        context,
        bytes: &bytes,
        end: BytesEnd::Limit,
        max_source: None,
        shape: Shape::STRAIGHT,
        sequences: &[],
        arrives: false,
        optimize: compile::mechanisms(vm),
        sealed: ImageRange::NONE,
        steady: false,
        bodies: None,
    };
    let code = ppin_jit::compile_sequence(&request, &sequence, vm.tool());
    let fragment = code.fragment.clone();
    let id = install(vm, region.image, head, fragment, &bytes, Kind::Sequence);
    let hot = vm.code().fragment(id).entry().0;
    let space = vm.code().fragment_at(hot)?.space();
    let slot = |n: u16| space.slots + 8 * u64::from(n);
    let copy = Copy {
        sequence,
        head,
        context,
        hot,
        stub: space.cold + u64::from(code.abort),
        descriptor: slot(code.descriptor),
        expected: slot(code.expected),
        landings: Vec::new(),
        live: true,
    };
    describe(&copy, &code);
    vm.log_at(
        format_args!("restartable sequence translated to {hot:#x}:"),
        head,
    );
    vm.code_mut().count_compiled(0);
    forget_freed(vm);
    Some(vm.rseq_mut().add(copy))
}

/// A value for [`Copy::expected`] that no address matches.
const NOTHING: u64 = Rseq::NONE.against;

/// Fills in the descriptor for the kernel. The cell of the expected address matches no address yet.
fn describe(copy: &Copy, code: &SequenceCode) {
    let len = code.range.end - code.range.start;
    let start = copy.hot + u64::from(code.range.start);
    let words = [0, start, u64::from(len), copy.stub];
    // SAFETY: slots of a fragment that nobody has entered yet.
    unsafe {
        (copy.descriptor as *mut [u64; 4]).write(words);
        (copy.expected as *mut u64).write(NOTHING);
    }
}

/// Forgets copies whose memory has been freed.
fn forget_freed(vm: &mut Vm) {
    let unused = vm.rseq().out_of_use();
    let freed: Vec<u64> = unused.filter(|hot| !vm.code().in_cache(*hot)).collect();
    vm.rseq_mut().forget(&freed);
}

/// Sets the address at which the app's descriptor of copy `n` is expected.
pub(super) fn expect(vm: &Vm, n: usize, address: u64) {
    use core::sync::atomic::{AtomicU64, Ordering};
    // SAFETY: a slot of a fragment in use, an aligned cell.
    let cell = unsafe { AtomicU64::from_ptr(vm.rseq().copy(n).expected as *mut u64) };
    cell.store(address.wrapping_neg(), Ordering::Relaxed);
}

/// The copy that holds cache address `addr`, hot or cold.
pub(super) fn at(vm: &Vm, addr: u64) -> Option<usize> {
    vm.rseq().at(hot_of(vm, addr)?)
}

/// Whether cache address `addr` lies in the translation of a sequence.
#[must_use]
pub fn is_inside(vm: &Vm, addr: u64) -> bool {
    vm.rseq().has_copies() && at(vm, addr).is_some()
}

/// Entry of the fragment that holds `addr`.
pub(super) fn hot_of(vm: &Vm, addr: u64) -> Option<u64> {
    vm.code().fragment_at(addr).map(|fresh| fresh.entry().0)
}

/// Prepares for entering the cache at `entry`, which may lie inside a sequence. If the app has set
/// `rseq_cs` to the sequence's descriptor, it is replaced by the descriptor of this translation.
/// Counts that the code before `entry` adds for later instructions are added here.
pub fn arrive(vm: &mut Vm, thread: &mut Thread, entry: CachePc) {
    if !vm.rseq().has_copies() {
        return;
    }
    let Some(n) = at(vm, entry.0).filter(|n| vm.rseq().copy(*n).hot != entry.0) else {
        return;
    };
    if let Some(spot) = translate::spot(vm, entry.0) {
        let back = spot.corrections.iter().map(|(disp, n)| (*disp, -n));
        translate::correct(thread, &back.collect());
    }
    let field = thread.area.rseq.field;
    thread.area.rseq.armed = 0;
    if field == 0 {
        return;
    }
    let value = peek::read_value(field).unwrap_or(0);
    let own = vm.rseq().copy(n).descriptor;
    if described(vm, value) == Some(vm.rseq().copy(n).sequence) && peek::write_value(field, &own) {
        thread.area.rseq.armed = 1;
    }
}

/// The sequence whose descriptor, the app's or a translation's, lies at `address`.
pub(super) fn described(vm: &mut Vm, address: u64) -> Option<Sequence> {
    if address == 0 {
        return None;
    }
    let ours = vm.rseq().of_descriptor(address);
    ours.map(|c| c.sequence)
        .or_else(|| learn::descriptor(vm, address))
}

/// Clears the thread's `rseq_cs` if it names a discarded translation, whose memory may be freed now
/// that the thread has seen the flush. The kernel also clears it when it finds the thread outside
/// the sequence.
pub fn clear_discarded(vm: &Vm, thread: &Thread) {
    let field = thread.area.rseq.field;
    if field == 0 || !vm.rseq().has_copies() {
        return;
    }
    let value = peek::read_value(field).unwrap_or(0);
    if vm.rseq().is_discarded(value) {
        // (If the field cannot be written any more, it need not be cleared.)
        let _ = peek::write_value(field, &0_u64);
    }
}

/// The app's state, if the kernel has aborted a sequence because of a fault: the pc is at the
/// translation's stub.
#[must_use]
pub fn aborted(vm: &Vm, thread: &mut Thread, pc: u64) -> Option<Spot> {
    let copy = vm.rseq().of_stub(pc)?;
    let spilled = SpillSet::at_home(core::mem::take(&mut thread.area.rseq.spilled) as u8);
    Some(Spot {
        spilled,
        ..Spot::at(copy.sequence.abort)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use crate::testing::sequence::{ABORT, ANNOUNCED, DESCRIPTOR, LEN, START, world};

    /// A world whose sequence was met and entered; the entry.
    fn entered() -> (World, CachePc) {
        let mut world = world();
        world.look_up(ANNOUNCED);
        let entry = world.look_up(START);
        (world, entry)
    }

    fn words(at: u64) -> [u64; 4] {
        peek::read_value(at).expect("it is there")
    }

    #[test]
    fn a_translation_has_a_descriptor_of_its_own() {
        let (mut world, entry) = entered();
        let copy = world.vm.rseq().copy(0);
        assert_eq!(copy.hot, entry.0);
        let [kind, start, len, abort] = words(copy.descriptor);
        assert_eq!((kind, abort), (0, copy.stub));
        let of = |address| hot_of(&world.vm, address);
        assert_eq!([start, start + len - 1, abort].map(of), [Some(entry.0); 3]);
        assert_eq!(world.look_up(START), entry, "it is translated once");
    }

    #[test]
    fn a_sequence_is_entered_inside_by_a_landing() {
        let (mut world, entry) = entered();
        let inside = world.look_up(START + 1);
        assert_ne!(inside, entry);
        assert_eq!(landings::owner(&world.vm, inside.0), Some(0));
        assert_eq!(world.look_up(START + 1), inside);
        let behind = world.look_up(START + LEN);
        assert_eq!(landings::owner(&world.vm, behind.0), None, "it is over");
        let pc = |offset| AppPc(world.start + offset);
        assert!(boundary(&world.vm, 0, pc(START + 1)).is_some());
        assert!(
            boundary(&world.vm, 0, pc(START + 2)).is_none(),
            "inside an instruction"
        );
    }

    #[test]
    fn a_discarded_sequence_takes_its_landings_along() {
        let (mut world, entry) = entered();
        let inside = world.look_up(START + 1);
        let id = world.vm.code().fresh_at(entry.0).expect("it is fresh");
        changes::discard(&mut world.vm, id);
        assert!(!world.fresh(entry).is_in_use() && !world.fresh(inside).is_in_use());
        assert_ne!(world.look_up(START), entry);
    }

    #[test]
    fn an_aborted_sequence_goes_on_at_its_handler() {
        let (world, _) = entered();
        let copy = world.vm.rseq().copy(0);
        world.thread.area.rseq.spilled = 1;
        let spot = aborted(&world.vm, world.thread, copy.stub).expect("its stub");
        assert_eq!(spot.pc, AppPc(world.start + ABORT));
        assert_eq!(spot.spilled, SpillSet::at_home(1));
        assert_eq!(world.thread.area.rseq.spilled, 0, "they are the caller's");
        assert!(aborted(&world.vm, world.thread, copy.hot).is_none());
    }

    #[test]
    fn a_thread_inside_names_the_descriptor_of_the_translation() {
        let (mut world, entry) = entered();
        let (vm, field) = (&mut world.vm, world.start + 0x800);
        let own = vm.rseq().copy(0).descriptor;
        let inside = boundary(vm, 0, AppPc(world.start + START + 1)).expect("an instruction");
        world.thread.area.rseq.field = field;
        let set = |value: u64| crate::testing::write(field, &value.to_le_bytes());
        let get = || peek::read_value::<u64>(field).expect("it is there");
        let apps = world.start + DESCRIPTOR;
        set(apps);
        arrive(vm, world.thread, entry);
        assert_eq!(
            (get(), world.thread.area.rseq.armed),
            (apps, 0),
            "its head does that"
        );
        arrive(vm, world.thread, inside);
        assert_eq!((get(), world.thread.area.rseq.armed), (own, 1));
        set(0);
        arrive(vm, world.thread, inside);
        assert_eq!(
            (get(), world.thread.area.rseq.armed),
            (0, 0),
            "not announced"
        );
    }

    #[test]
    fn a_descriptor_out_of_use_is_cleared() {
        let (mut world, entry) = entered();
        let (field, own) = (world.start + 0x800, world.vm.rseq().copy(0).descriptor);
        world.thread.area.rseq.field = field;
        crate::testing::write(field, &own.to_le_bytes());
        clear_discarded(&world.vm, world.thread);
        assert_eq!(peek::read_value(field), Some(own), "it is in use");
        let id = world.vm.code().fresh_at(entry.0).expect("it is fresh");
        changes::discard(&mut world.vm, id);
        clear_discarded(&world.vm, world.thread);
        assert_eq!(peek::read_value(field), Some(0_u64));
    }
}
