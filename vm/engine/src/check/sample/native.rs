//! The native copy: runs the app's own code and compares.

use super::record::{Difference, Outcome, Part, Place, Record};
use super::{translated, vector};
use crate::signal::native;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use ppin_os::frame::{UContext, greg};
use ppin_os::{c, peek, proc};
use ppin_process::gate;
use ppin_process::thread::Thread;

/// CF, PF, AF, ZF, SF, DF, OF.
const FLAGS: u64 = 0xcd5;

/// Number of the place that this copy has reached.
static AT: AtomicU32 = AtomicU32::new(0);

/// Handles a signal of the native copy: the trap before the first instruction, a single step
/// (`stepped`), or a fault, which the translated copy did not have.
pub(super) fn on_signal(
    thread: &mut Thread,
    record: &mut Record,
    (signal, stepped): (u32, bool),
    context: &mut UContext,
) {
    let pc = context.gregs[greg::RIP];
    let trapped = signal == c::SIGTRAP;
    if trapped && gate::place(pc.wrapping_sub(1)) == gate::Place::NativeTrap {
        return native::arrive(thread, context);
    }
    let at = AT.load(Relaxed);
    if !stepped {
        let fault = (Part::Fault, u64::from(signal), 0, 0);
        differ(record, at + 1, fault);
    }
    // A repeated instruction has not moved.
    if pc == record.place(at).pc {
        return;
    }
    AT.store(at + 1, Relaxed);
    let expected = record.place(at + 1);
    if let Some(found) = difference(&Place::of(context, pc, 0, false), &expected) {
        differ(record, at + 1, found);
    }
    if expected.called != 0 {
        let _ = peek::write_value(translated::below(&expected), &expected.below);
    }
    if at + 1 == record.steps() {
        conclude(record, context);
    }
}

type Found = (Part, u64, u64, u64);

fn difference(native: &Place, ours: &Place) -> Option<Found> {
    if native.pc != ours.pc {
        return Some((Part::Pc, 0, native.pc, ours.pc));
    }
    let registers = (0u64..).zip(native.gpr.into_iter().zip(ours.gpr));
    let (native_flags, our_flags) = (native.flags & FLAGS, ours.flags & FLAGS);
    registers
        .map(|(number, (native, ours))| (Part::Register, number, native, ours))
        .find(|(.., native, ours)| native != ours)
        .or_else(|| {
            let differ = ours.head != 0 && native_flags != our_flags;
            differ.then_some((Part::Flags, 0, native_flags, our_flags))
        })
}

/// At the last place: compares vector state and memory.
fn conclude(record: &mut Record, context: &UContext) -> ! {
    let last = record.steps();
    if let Some((at, native, ours)) = vector::difference(context.fpstate, &record.vector) {
        differ(record, last, (Part::Vector, at, native.into(), ours.into()));
    }
    if let Some((place, found)) = memory(record) {
        differ(record, place + 1, found);
    }
    record.outcome = Outcome::Same as u32;
    proc::exit_group(0)
}

/// The last difference in memory, with the number of the place whose instruction stored there.
fn memory(record: &mut Record) -> Option<(u32, Found)> {
    let different = record.compared().filter_map(|(stretch, ours)| {
        (stretch.at..).zip(ours).find_map(|(at, ours)| {
            let native = peek::read_value::<u8>(at)?;
            let found = (Part::Memory, at, native.into(), (*ours).into());
            (native != *ours).then_some((stretch.place, found))
        })
    });
    different.last()
}

fn differ(record: &mut Record, place: u32, (part, which, native, ours): Found) -> ! {
    record.difference = Difference {
        part,
        place,
        which,
        native,
        ours,
    };
    record.outcome = Outcome::Different as u32;
    proc::exit_group(0)
}
