//! Ways into the middle of a restartable sequence, for what is branched or returned to
//! from outside.
//!
//! ```text
//!          mov gs:[Spill::Rcx], rcx; mov gs:[Spill::Rdx], rdx
//!          value of the registered field; if there is none, or it is 0: none
//!          if it is our descriptor: own; if the expected one of the app's: ours
//!          mov rdx, gs:[Spill::Rdx]; lea rcx, [rip + record]; jmp gs:[Entry::LeaveTrap]
//!    none: mov gs:[Rseq::armed], 0
//!          jmp go
//!    ours: mov [field], our descriptor
//!    own:  mov gs:[Rseq::armed], 1
//!    go:   mov rdx, gs:[Spill::Rdx]; mov rcx, gs:[Spill::Rcx]
//!          jmp the instruction in the sequence's translation
//! ```
//! An interruption in here is one before the branch.

use crate::emit::{Emitter, FIELD};
use crate::request::Request;
use dynasm::dynasm;
use ppin_abi::context::Context;
use ppin_abi::record::Trap;
use ppin_relocator::{Fragment, RelocKind, SlotInit};

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

/// The way to `request.pc`; it depends on `source_len` bytes of the app.
#[must_use]
pub fn compile_landing(request: &Request<'_>, source_len: u32) -> Fragment {
    let mut emitter = Emitter::new(request.pc, request.image, request.context, 1, 64);
    for _ in 0..4 {
        emitter.slot(SlotInit::Cold(0));
    }
    let record = emitter.trap_record(request.pc, Trap::RseqEntry, request.context);
    emitter.boundary(0);
    if !request.context.contains(Context::CONTINUATION) {
        emitter.block_start();
    }
    emit(&mut emitter, record);
    emitter.finish(source_len, 1)
}

fn emit(emitter: &mut Emitter, record: u32) {
    emitter.borrow_two(0);
    dynasm!(emitter.hot; .arch x64; gs mov rcx, [DWORD FIELD]);
    let unregistered = emitter.jrcxz();
    dynasm!(emitter.hot; .arch x64; mov rcx, [rcx]);
    let nothing = emitter.jrcxz();
    load_rdx(emitter, LandingSlot::Against);
    dynasm!(emitter.hot; .arch x64
        ; lea rdx, [rcx + rdx]
        ; xchg rcx, rdx
    );
    let own = emitter.jrcxz();
    dynasm!(emitter.hot; .arch x64; mov rcx, rdx);
    load_rdx(emitter, LandingSlot::Expected);
    dynasm!(emitter.hot; .arch x64
        ; mov rdx, [rdx]
        ; lea rcx, [rcx + rdx]
    );
    let ours = emitter.jrcxz();
    emitter.unspill_rdx();
    emitter.leave_by(record);
    emitter.hot.land(unregistered);
    emitter.hot.land(nothing);
    emitter.note_armed(false);
    let go = emitter.short_jump();
    emitter.hot.land(ours);
    load_rdx(emitter, LandingSlot::Descriptor);
    dynasm!(emitter.hot; .arch x64; mov rcx, rdx);
    emitter.store_to_field();
    emitter.hot.land(own);
    emitter.note_armed(true);
    emitter.hot.land(go);
    emitter.give_back_two(0);
    dynasm!(emitter.hot; .arch x64; jmp QWORD [rip + 0]);
    emitter.relocate_hot(RelocKind::Slot(LandingSlot::Target as u16));
}

fn load_rdx(emitter: &mut Emitter, slot: LandingSlot) {
    dynasm!(emitter.hot; .arch x64; mov rdx, [rip + 0]);
    emitter.relocate_hot(RelocKind::Slot(slot as u16));
}
