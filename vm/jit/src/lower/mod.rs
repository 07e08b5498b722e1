//! The rules: app instructions in a form that behaves alike in the cache. One file for each
//! [`Kind`], each with what it turns into what.
//!
//! Rules name temporaries, not registers: they come before registers are given out, so that
//! the allocator sees what all rules and insertions of a trace need.

mod announce;
pub(crate) mod arrive;
pub(crate) mod bridge;
mod call;
pub(crate) mod called;
pub(crate) mod cases;
pub(crate) mod compare;
mod cond_jump;
mod cpuid;
mod gs_base;
mod gs_memory;
mod indirect_call;
mod indirect_jump;
pub(crate) mod inlined;
mod jump;
pub(crate) mod leave;
mod meant;
mod moved;
mod near;
mod paired;
mod pop_flags;
pub(crate) mod predicate;
mod predicted;
mod ret;
mod rip_relative;
pub(crate) mod routine;
pub(crate) mod rseq_entry;
pub(crate) mod rseq_landing;
pub(crate) mod rseq_store;
pub(crate) mod sealed;
mod site;
mod stay;
pub(crate) mod store_result;
mod syscall;
mod transaction;
pub(crate) mod trap;
mod verbatim;
mod x87_pointer;

use ppin_decode::Kind;
use ppin_form::{Form, ins_context};
pub(crate) use site::Site;

/// The operations for one instruction.
pub(crate) fn lower(form: &mut Form, site: &Site<'_>) {
    moved::lower(form, site);
    match site.ins.kind {
        Kind::Verbatim | Kind::Faulting => verbatim::lower(form, site),
        Kind::RipRelative => rip_relative::lower(form, site),
        Kind::Cpuid => cpuid::lower(form, site),
        Kind::PopFlags => pop_flags::lower(form, site),
        Kind::GsMemory => gs_memory::lower(form, site),
        Kind::GsBase => gs_base::lower(form, site),
        Kind::Jump => jump::lower(form, site),
        Kind::CondJump | Kind::ShortJump => cond_jump::lower(form, site),
        Kind::TransactionBegin => transaction::lower(form, site),
        Kind::Call => call::lower(form, site),
        Kind::IndirectJump => indirect_jump::lower(form, site),
        Kind::IndirectCall => indirect_call::lower(form, site),
        Kind::Ret => ret::lower(form, site),
        Kind::Syscall => syscall::lower(form, site),
        Kind::Trap(trap) => {
            let context = ins_context(form.context, site.ins.offset);
            trap::lower(form, site.ins.pc(), trap, context);
        }
    }
    if let Some(field) = site.ins.x87_pointer.filter(|_| site.ins.kind.is_plain()) {
        x87_pointer::lower(form, site, field);
    }
}
