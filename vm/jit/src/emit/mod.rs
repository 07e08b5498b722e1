//! Last stage: code, records and tables of one fragment.

mod asm;
mod branches;
mod call;
mod cases;
mod compare;
mod encode;
mod exits;
mod fields;
mod flags;
mod fragment;
mod lifetimes;
mod lifted;
mod operands;
mod ops;
mod records;
mod sequence;
mod snippets;
mod values;
mod writer;

pub(crate) use fragment::{Emitter, InSequence};
pub(crate) use records::ExitTo;
pub(crate) use writer::Source;
