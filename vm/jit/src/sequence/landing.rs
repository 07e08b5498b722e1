//! Ways into the middle of a restartable sequence, for what is branched or returned to
//! from outside. An interruption in one is one before the branch.

use crate::emit::{Emitter, Source};
use crate::request::Request;
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_form::{Form, Record};
use ppin_lower::rseq_landing::{self, Slots};
use ppin_relocator::{Fragment, SlotInit};

/// Slots of a landing, which the engine fills in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum LandingSlot {
    /// Cache address to go on at.
    Target = 0,
    /// Address of our descriptor.
    Descriptor = 1,
    /// What makes 0 with that.
    Against = 2,
    /// Address of the cell for what makes 0 with the app's.
    Expected = 3,
}

const SLOTS: Slots = Slots {
    target: LandingSlot::Target as u16,
    descriptor: LandingSlot::Descriptor as u16,
    against: LandingSlot::Against as u16,
    expected: LandingSlot::Expected as u16,
};

/// The way to `request.pc`; it depends on `source_len` bytes of the app.
#[must_use]
pub fn compile_landing(request: &Request<'_>, source_len: u32) -> Fragment {
    let mut form = Form::new(request.context, request.optimize, 8);
    let record = Record::Trap {
        pc: request.pc,
        trap: Trap::RseqEntry,
        context: request.context,
    };
    rseq_landing::lower(&mut form, &SLOTS, record);
    let mut emitter = Emitter::new(request.pc, request.image, request.context, &form);
    for _ in 0..4 {
        emitter.slot(SlotInit::Cold(0));
    }
    let block = !request.context.contains(Context::CONTINUATION);
    emitter.begin(0, block);
    emitter.emit(&mut form, &Source::NONE, &mut 0);
    emitter.finish(source_len, 1)
}
