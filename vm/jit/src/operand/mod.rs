//! Other forms of an instruction whose memory operand cannot stay as it is.

pub(crate) mod absolute;
pub(crate) mod rebased;
