//! Calls of analysis routines.

use super::argument::call_arg;
use crate::decode::Ins;
use crate::emit::Emitter;
use ppin_abi::record::MAX_ARGS;
use ppin_api::compiler::{CallInsertion, Value};

pub(super) fn emit(emitter: &mut Emitter, call: &CallInsertion, ins: &Ins) {
    let mut args = [call_arg(Value::Const(0)); MAX_ARGS];
    for (arg, value) in args.iter_mut().zip(&call.args) {
        *arg = call_arg(*value);
    }
    let args = &args[..call.args.len()];
    emitter.bridge(ins.pc(), ins.offset, call.routine.0, args);
}
