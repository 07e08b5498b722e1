//! Rewriting: app instructions in a form that behaves alike in the cache. One
//! file for each [`Kind`], each with what it turns into what.

mod call;
mod cond_jump;
mod gs_base;
mod gs_memory;
mod indirect_call;
mod indirect_jump;
mod jump;
mod load_target;
mod pop_flags;
mod ret;
mod rip_relative;
pub(crate) mod rseq_store;
mod short_jump;
mod site;
mod syscall;
mod transaction;
pub(crate) mod trap;
mod verbatim;
pub(crate) mod within;
mod x87_pointer;

use crate::decode::Kind;
use crate::emit::Emitter;
pub(crate) use site::Site;

/// Emits the code for one instruction.
pub(crate) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    match site.ins.kind {
        Kind::Verbatim | Kind::Faulting => verbatim::emit(emitter, site),
        Kind::RipRelative => rip_relative::emit(emitter, site),
        Kind::PopFlags => pop_flags::emit(emitter, site),
        Kind::GsMemory => gs_memory::emit(emitter, site),
        Kind::GsBase => gs_base::emit(emitter, site),
        Kind::Jump => jump::emit(emitter, site),
        Kind::CondJump => cond_jump::emit(emitter, site),
        Kind::ShortJump => short_jump::emit(emitter, site),
        Kind::TransactionBegin => transaction::emit(emitter, site),
        Kind::Call => call::emit(emitter, site),
        Kind::IndirectJump => indirect_jump::emit(emitter, site),
        Kind::IndirectCall => indirect_call::emit(emitter, site),
        Kind::Ret => ret::emit(emitter, site),
        Kind::Syscall => syscall::emit(emitter, site),
        Kind::Trap(trap) => {
            let context = emitter.ins_context(site.ins.offset);
            trap::emit(emitter, site.ins.pc(), site.ins.offset, trap, context);
        }
    }
    if let Some(field) = site.ins.x87_pointer.filter(|_| site.ins.kind.is_plain()) {
        x87_pointer::emit(emitter, site, field);
    }
}
