//! What the VM has to raise or to explain.
//!
//! ```text
//! Target:  anything
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + record]
//!          jmp gs:[Entry::LeaveTrap]
//! ```

use crate::emit::Emitter;
use ppin_abi::addr::AppPc;
use ppin_abi::area::Entry;
use ppin_abi::context::Context;
use ppin_abi::record::Trap;

/// Emits the trap of the instruction at `pc`, `app` bytes behind the head.
pub(crate) fn emit(emitter: &mut Emitter, pc: AppPc, app: u32, trap: Trap, context: Context) {
    let record = emitter.trap_record(pc, trap, context);
    emitter.spill_rcx(app);
    emitter.point_rcx_at(record);
    emitter.jump_to(Entry::LeaveTrap);
}
