//! Other forms of instructions whose memory operand cannot stay as it is, and of parts of
//! them.

pub(crate) mod absolute;
pub(crate) mod address;
pub(crate) mod rebased;
pub(crate) mod target;
