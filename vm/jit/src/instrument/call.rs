//! Calls of analysis routines.

use crate::api::CallInsertion;
use crate::decode::Ins;
use crate::emit::Emitter;

pub(super) fn emit(emitter: &mut Emitter, call: &CallInsertion, ins: &Ins) {
    emitter.bridge(ins.pc(), ins.offset, call.routine.0, &call.args);
}
