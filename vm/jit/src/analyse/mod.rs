//! What is still alive at each point of a trace.

pub(crate) mod apart;
pub(crate) mod beyond;
pub(crate) mod flags;
pub(crate) mod registers;
