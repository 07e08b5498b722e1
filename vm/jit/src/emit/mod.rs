//! Last stage: code, stubs, records and tables of one fragment.

mod asm;
mod compare;
mod fragment;
mod sequence;
mod snippets;
mod stubs;

pub(crate) use asm::Asm;
pub(crate) use fragment::{Emitter, InSequence};
pub(crate) use sequence::{FIELD, VALUE};
pub(crate) use stubs::ExitTo;
