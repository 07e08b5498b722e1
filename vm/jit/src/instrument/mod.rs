//! What a tool inserted, as code.

use crate::api::Insertions;
use crate::decode::Ins;
use crate::emit::Emitter;

/// What is emitted around each instruction.
pub(crate) struct Plan {
    inserted: Insertions,
}

impl Plan {
    pub(crate) fn new(inserted: Insertions, _ins: &[Ins]) -> Self {
        Self { inserted }
    }

    pub(crate) fn emit_before(&self, _emitter: &mut Emitter, _index: usize, _ins: &Ins) {}

    pub(crate) fn emit_after(&self, _emitter: &mut Emitter, _index: usize, _ins: &Ins) {}
}
