//! The copy that runs translated code and notes where the app is.

use super::record::{Outcome, Place, Record};
use super::{steps, vector};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use ppin_abi::addr::AppPc;
use ppin_jit::origin::Surroundings;
use ppin_jit::stores::stores;
use ppin_os::frame::{UContext, greg};
use ppin_os::{peek, proc, segment};
use ppin_process::thread::Thread;
use ppin_process::{translate, vm};

/// Traps that a stretch may take, in the cache and on the way to analysis routines.
const TRAPS: u32 = 400_000;

/// Segments of the app.
pub(super) struct Segments(pub u64);

impl Surroundings for Segments {
    fn word(&self, address: u64) -> Option<u64> {
        peek::read_value(address)
    }
    fn segment_base(&self, gs: bool) -> u64 {
        if gs { self.0 } else { segment::fs_base() }
    }
}

/// After one instruction, or (`stepped` is false) at a fault, with which it ends.
pub(super) fn on_signal(thread: &Thread, record: &mut Record, stepped: bool, context: &UContext) {
    static SEEN: AtomicU32 = AtomicU32::new(0);
    if !stepped || SEEN.fetch_add(1, Relaxed) > TRAPS {
        finish(record);
    }
    let pc = context.gregs[greg::RIP];
    // In the runtime somebody may hold the lock.
    if !vm::is_runtime(pc)
        && let Some(place) = place(context, pc)
        && record.places().last().map(|last| last.pc) != Some(place.pc)
        && !note(thread, record, place, context)
    {
        finish(record);
    }
}

/// The app's place, if it is between two instructions.
fn place(context: &UContext, pc: u64) -> Option<Place> {
    let maps = vm::lock().code.maps_at(pc)?;
    let spot = translate::spot_in(&maps, pc).filter(|spot| spot.boundary)?;
    Some(Place::of(context, spot.pc.0, pc, maps.hot == pc))
}

/// Notes it; whether to go on.
fn note(thread: &Thread, record: &mut Record, place: Place, context: &UContext) -> bool {
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
    let room = record.add_place(place);
    let stored = stored.filter(|_| room && !steps::is_avoided(place.pc));
    // Translated code announces its own sequences.
    let announced = thread.area.rseq.field;
    let plain = |(at, len): &(u64, u64)| announced.wrapping_sub(*at) >= *len;
    stored.is_some_and(|all| {
        all.iter()
            .all(|stored| plain(stored) && record.add_stretch(stored.0, stored.1))
    })
}

/// The stretch ends here: what was stored is shown to the other copy.
pub(super) fn finish(record: &mut Record) -> ! {
    for (stretch, bytes) in record.compared() {
        peek::read(stretch.at, bytes);
    }
    record.outcome = Outcome::Translated as u32;
    proc::exit_group(0)
}
