//! The translated copy: runs translated code and records the app state at every boundary.

use super::record::{Outcome, Place, Record};
use super::{avoided, vector};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use ppin_abi::addr::AppPc;
use ppin_abi::optimize::Optimize;
use ppin_decode::origin::Surroundings;
use ppin_decode::stores::stores;
use ppin_decode::{InsReader, Kind};
use ppin_os::frame::{UContext, greg};
use ppin_os::{peek, proc, segment};
use ppin_process::thread::{Thread, reg};
use ppin_process::translate;
use ppin_process::vm::{self, Vm};

/// Most traps in a sample, those on the way to analysis routines included.
const TRAPS: u32 = 400_000;

/// Memory and segments of the app; holds its gs base.
pub(super) struct Segments(pub u64);

impl Surroundings for Segments {
    fn word(&self, address: u64) -> Option<u64> {
        peek::read_value(address)
    }
    fn segment_base(&self, gs: bool) -> u64 {
        if gs { self.0 } else { segment::fs_base() }
    }
}

/// Handles a signal of the translated copy: a single step, or (`stepped` is false) a fault, which
/// ends the sample.
pub(super) fn on_signal(thread: &Thread, record: &mut Record, stepped: bool, context: &UContext) {
    static SEEN: AtomicU32 = AtomicU32::new(0);
    if !stepped || SEEN.fetch_add(1, Relaxed) > TRAPS {
        finish(record);
    }
    let pc = context.gregs[greg::RIP];
    // (In the runtime a thread may hold the VM lock.)
    if !vm::is_runtime(pc)
        && let Some(place) = place(thread, context, pc)
        && record.places().last().map(|last| last.pc) != Some(place.pc)
        && !note(thread, record, place, context)
    {
        finish(record);
    }
}

/// The app state, if `pc` is at an instruction boundary.
fn place(thread: &Thread, context: &UContext, pc: u64) -> Option<Place> {
    let (maps, counts) = {
        let vm = vm::lock();
        (vm.code().maps_at(pc)?, counts(&vm))
    };
    let spot = translate::spot_in(&maps, pc).filter(|spot| spot.boundary)?;
    let head = maps.head == spot.pc && !(counts && flags_die(spot.pc));
    let mut place = Place::of(context, spot.pc.0, pc, head);
    for (slot, register) in spot.spilled.iter() {
        place.gpr[usize::from(register)] = thread.area.spill[slot.number()];
    }
    Some(place)
}

/// Whether branches may lead on with lost flags where those die.
fn counts(vm: &Vm) -> bool {
    let counters = vm.tool().global_counters() + vm.tool().image_counters();
    counters > 0 && vm.config().optimize.has(Optimize::JOIN)
}

fn flags_die(pc: AppPc) -> bool {
    let mut bytes = [0; ppin_jit::MAX_TRACE_BYTES];
    let len = peek::read(pc.0, &mut bytes);
    ppin_liveness::beyond::flags_die(pc, &bytes[..len])
}

/// Records a place; returns whether the sample goes on.
fn note(thread: &Thread, record: &mut Record, mut place: Place, context: &UContext) -> bool {
    note_call(record, &mut place);
    vector::keep(context.fpstate, &mut record.vector);
    let mut bytes = [0; 15];
    let len = peek::read(place.pc, &mut bytes);
    let around = Segments(thread.area.app_gs_base);
    let stored = stores(
        AppPc(place.pc),
        &bytes[..len],
        &place.gpr,
        place.flags,
        &around,
    );
    if is_call(place.pc) {
        record.lose(below(&place).wrapping_sub(8), 8);
    }
    let room = record.add_place(place);
    let stored = stored.filter(|_| room && !avoided::is_avoided(place.pc));
    // A store that announces a sequence ends the sample: translated code stores another value.
    let announced = thread.area.rseq.field;
    let plain = |(at, len): &(u64, u64)| announced.wrapping_sub(*at) >= *len;
    stored.is_some_and(|all| {
        all.iter()
            .all(|stored| plain(stored) && record.add_stretch(stored.0, stored.1))
    })
}

/// Notes in `place` what lies below the return address, if a direct call has led there: that of the CPU has
/// lain there for a while (`ppin_lower`'s `paired.rs`). The native copy gets the same word, as the app
/// may read it.
fn note_call(record: &Record, place: &mut Place) {
    let last = record.places().last();
    if !last.is_some_and(|last| is_call(last.pc)) {
        return;
    }
    if let Some(word) = peek::read_value(below(place)) {
        (place.called, place.below) = (1, word);
    }
}

fn is_call(pc: u64) -> bool {
    let mut bytes = [0; 15];
    let len = peek::read(pc, &mut bytes);
    let ins = InsReader::new(AppPc(pc), &bytes[..len]).read();
    ins.is_ok_and(|ins| ins.kind == Kind::Call)
}

/// Address of the word below the stack pointer at `place`.
pub(super) fn below(place: &Place) -> u64 {
    place.gpr[reg::RSP].wrapping_sub(8)
}

/// Ends the sample: copies the stored memory into the record, for the native copy.
pub(super) fn finish(record: &mut Record) -> ! {
    for (stretch, bytes) in record.compared() {
        peek::read(stretch.at, bytes);
    }
    record.outcome = Outcome::Translated as u32;
    proc::exit_group(0)
}
