//! What is still alive at each point of a trace.

pub(crate) mod flags;
pub(crate) mod registers;
