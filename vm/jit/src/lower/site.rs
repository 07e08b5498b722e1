//! The place at which a rule works.

use crate::decode::Ins;
use crate::emit::{Emitter, ExitTo};
use ppin_abi::addr::AppPc;

/// An instruction to be rewritten, in its place.
pub(crate) struct Site<'a> {
    pub ins: &'a Ins,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// App instructions of the trace up to and with this one.
    pub executed: u32,
}

impl Site<'_> {
    /// An exit that this control transfer takes to `target`.
    pub(super) fn exit(&self, emitter: &Emitter, target: AppPc) -> ExitTo {
        ExitTo {
            target,
            context: emitter.exit_context(),
            executed: self.executed,
        }
    }
}
