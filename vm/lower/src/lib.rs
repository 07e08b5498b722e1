//! The rules of the compiler: app instructions, and calls of a tool's routines, in a form that
//! behaves alike in the cache.
//!
//! ```text
//! ppin-jit     which instructions a trace has, and what the tool inserts between them
//!    v
//! lower()      an instruction: a rule for each Kind of ppin-decode
//! others       what stands around instructions
//!              arrive, called             where threads come by other ways than links of jumps
//!              compare                    code that compares its source
//!              inlined, routine, bridge   calls of routines
//!              leave, store_result        what they have returned
//!              rseq_entry, rseq_landing   restartable sequences
//!    v
//! ppin-form    operations on temporaries, then a register for each
//!    v
//! ppin-jit     code
//! ```
//! One file for each rule, with what it turns into what. A rule sees an instruction in its place
//! ([`Site`]); it knows neither how the trace was chosen nor how operations are encoded.
//!
//! Rules name temporaries, not registers: they come before registers are given out, so that
//! the allocator sees what all rules and insertions of a trace need.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod announce;
mod argument;
pub mod arrive;
pub mod bridge;
mod call;
pub mod called;
pub mod cases;
mod cases_kept;
pub mod compare;
mod cond_jump;
mod cpuid;
mod gs_base;
mod gs_memory;
mod indirect_call;
mod indirect_jump;
pub mod inlined;
mod jump;
pub mod leave;
mod meant;
mod moved;
mod near;
pub mod operand;
mod paired;
mod pop_flags;
pub mod predicate;
mod predicted;
mod ret;
mod rip_relative;
pub mod routine;
pub mod rseq_entry;
pub mod rseq_landing;
pub mod rseq_store;
pub mod sealed;
mod site;
mod stay;
pub mod store_result;
mod syscall;
mod transaction;
pub mod trap;
mod verbatim;
mod x87_pointer;

pub use argument::call_arg;
use ppin_decode::Kind;
use ppin_form::{Form, ins_context};
pub use site::Site;

/// The operations for one instruction.
pub fn lower(form: &mut Form, site: &Site<'_>) {
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
