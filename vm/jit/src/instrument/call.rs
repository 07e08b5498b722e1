//! Calls of analysis routines.
//!
//! ```text
//!          mov gs:[Spill::Rcx], rcx
//!          lea rcx, [rip + record]
//!          jmp gs:[Entry::Bridge]
//!  resume:                                  all app registers in place again
//! ```

use crate::api::CallInsertion;
use crate::decode::Ins;
use crate::emit::Emitter;
use ppin_abi::area::Entry;

/// Length of the three instructions.
const LEN: u32 = 9 + 7 + 8;

pub(super) fn emit(emitter: &mut Emitter, call: &CallInsertion, ins: &Ins) {
    let resume = emitter.hot.here() + LEN;
    let record = emitter.call_record(ins.pc(), call.routine.0, &call.args, resume);
    emitter.spill_rcx(ins.offset);
    emitter.point_rcx_at(record);
    emitter.jump_to(Entry::Bridge);
    debug_assert_eq!(emitter.hot.here(), resume);
    emitter.row(ins.offset, 0, 0);
}
