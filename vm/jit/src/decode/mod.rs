//! First stage: app bytes to instructions, and what the processor does with each.

pub(crate) mod constants;
pub(crate) mod effects;
mod ins;
mod kind;
pub(crate) mod x87;

pub(crate) use ins::{Ins, InsReader, MAX_INS_LEN, NoIns};
pub(crate) use kind::Kind;
