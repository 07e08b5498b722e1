//! Last stage: code, stubs, records and tables of one fragment.

mod asm;
mod branches;
mod call;
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
mod sequence;
mod snippets;
mod stubs;
mod values;
mod writer;

pub(crate) use fragment::{Emitter, InSequence};
pub(crate) use stubs::ExitTo;
pub(crate) use writer::Source;
