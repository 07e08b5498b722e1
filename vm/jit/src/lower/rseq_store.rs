//! Stores of 8 bytes that may announce a restartable sequence to the kernel: it must be
//! told of the translation instead. Watched where a sequence is at hand, and everywhere
//! in a program that builds descriptors as it runs.
//!
//! ```text
//! Target:  mov [m], v
//! Becomes: mov gs:[Spill::Rcx], rcx; mov gs:[Spill::Rdx], rdx
//!          mov gs:[Rseq::armed], 0           before the sequence only
//!          lea rcx, [m]
//!          mov rdx, gs:[Rseq::against]; lea rcx, [rcx + rdx]
//!          jrcxz field
//!          mov rdx, gs:[Spill::Rdx]; mov rcx, gs:[Spill::Rcx]
//!          mov [m], v
//!          jmp done
//!   field: mov rcx, v; mov gs:[Rseq::value], rcx
//!          jrcxz none                         in a sequence: 0 takes it back,
//!          compare rcx with expected          and the descriptor that is expected
//!          jrcxz ours                         gives way to that of this code
//!          mov rdx, gs:[Spill::Rdx]; lea rcx, [rip + record]; jmp gs:[Entry::LeaveTrap]
//!    none: mov gs:[Rseq::armed], 0; mov [m], 0
//!          jmp back
//!    ours: mov gs:[Rseq::armed], 1; mov [m], our descriptor
//!    back: mov rdx, gs:[Spill::Rdx]; mov rcx, gs:[Spill::Rcx]
//!    done:
//! ```
//! Elsewhere the VM makes the store.

use super::site::Site;
use super::{rip_relative, verbatim};
use crate::decode::{Ins, Kind};
use crate::emit::{Emitter, InSequence};
use crate::operand::absolute::Form;
use core::mem::offset_of;
use dynasm::dynasm;
use iced_x86::{Code, Encoder, Instruction, OpKind, Register};
use ppin_abi::addr::AppPc;
use ppin_abi::area::{RSEQ, Rseq, Spill};
use ppin_abi::record::Trap;
use ppin_relocator::RelocKind;

/// `lea rcx, [rip + distance]`
const LEA_RIP: [u8; 7] = [0x48, 0x8d, 0x0d, 0, 0, 0, 0];
/// Offset of the distance in it.
const LEA_DISP: u8 = 3;

/// Emits the store; the hot offset behind which the kernel may abort the sequence that
/// it announces.
pub(crate) fn emit(emitter: &mut Emitter, site: &Site<'_>) -> u32 {
    let app = site.ins.offset;
    let context = emitter.ins_context(app);
    let record = emitter.trap_record(site.ins.pc(), Trap::RseqStore, context);
    emitter.borrow_two(app);
    emitter.nothing_announced();
    load_address(emitter, site.ins);
    compare_with_field(emitter, site.ins);
    let field = emitter.jrcxz();
    emitter.give_back_two(app);
    // Such a store is copied, or aimed at the same address.
    if site.ins.kind == Kind::RipRelative {
        rip_relative::emit(emitter, site);
    } else {
        verbatim::emit(emitter, site);
    }
    emitter.hot.bytes(&[0xe9]);
    emitter.hot.push_i32(0);
    let over = emitter.hot.here();
    emitter.hot.land(field);
    emitter.arrive_spilled(app);
    load_value(emitter, &site.ins.raw);
    let start = match emitter.sequence() {
        Some(state) => announce(emitter, &state, site.ins, record),
        None => {
            emitter.unspill_rdx();
            emitter.leave_by(record);
            emitter.row(site.ins.end(), 0, 0);
            emitter.hot.here()
        }
    };
    let done = emitter.hot.here();
    emitter.relocate_hot_at(over - 4, 4, RelocKind::Hot(done));
    start
}

/// The store is to the field, and its value in rcx.
fn announce(emitter: &mut Emitter, state: &InSequence, ins: &Ins, record: u32) -> u32 {
    let none = emitter.jrcxz();
    emitter.compare_with_expected(state);
    let ours = emitter.jrcxz();
    emitter.unspill_rdx();
    emitter.leave_by(record);
    emitter.hot.land(none);
    emitter.note_armed(false);
    emitter.store_to_field();
    let back = emitter.short_jump();
    emitter.hot.land(ours);
    emitter.announce(state);
    let start = emitter.hot.here();
    emitter.hot.land(back);
    emitter.arrive_spilled(ins.end());
    emitter.give_back_two(ins.end());
    start
}

/// rcx = address of the operand, without its segment.
fn load_address(emitter: &mut Emitter, ins: &Ins) {
    if ins.kind == Kind::RipRelative {
        let near = Form::copy(&LEA_RIP, LEA_DISP);
        let form = if emitter.is_low() {
            near.and_then(Form::to_absolute)
        } else {
            near
        };
        if let Some(form) = form {
            emitter.form(&form, AppPc(ins.raw.ip_rel_memory_address()));
        }
        return;
    }
    let mut lea = ins.raw;
    lea.set_code(Code::Lea_r64_m);
    lea.set_op0_kind(OpKind::Register);
    lea.set_op0_register(Register::RCX);
    lea.set_op1_kind(OpKind::Memory);
    lea.set_segment_prefix(Register::None);
    lea.set_has_lock_prefix(false);
    lea.set_has_rep_prefix(false);
    lea.set_has_repne_prefix(false);
    if let Ok(mut encoder) = Encoder::try_new(64)
        && encoder.encode(&lea, lea.ip()).is_ok()
    {
        emitter.hot.bytes(&encoder.take_buffer());
    }
}

/// rcx becomes 0 if it is the address of the registered field; destroys rdx.
fn compare_with_field(emitter: &mut Emitter, ins: &Ins) {
    let against = if ins.raw.memory_segment() == Register::FS {
        offset_of!(Rseq, against_fs)
    } else {
        offset_of!(Rseq, against)
    };
    let disp = (RSEQ as usize + against) as i32;
    dynasm!(emitter.hot; .arch x64
        ; gs mov rdx, [DWORD disp]
        ; lea rcx, [rcx + rdx]
    );
}

/// rcx and `Rseq::value` = what is to be stored.
#[allow(
    clippy::useless_conversion,
    reason = "the assembler converts register numbers"
)]
fn load_value(emitter: &mut Emitter, raw: &Instruction) {
    let value = crate::emit::VALUE;
    let spilled = Spill::Rdx.disp() as i32;
    match raw.op1_register() {
        Register::None => {
            let number = raw.immediate(1) as i32;
            dynasm!(emitter.hot; .arch x64; mov rcx, DWORD number);
        }
        Register::RCX => emitter.unspill_rcx(),
        Register::RDX => dynasm!(emitter.hot; .arch x64; gs mov rcx, [DWORD spilled]),
        other => {
            let number = other.number() as u8;
            dynasm!(emitter.hot; .arch x64; mov rcx, Rq(number));
        }
    }
    dynasm!(emitter.hot; .arch x64; gs mov [DWORD value], rcx);
}
