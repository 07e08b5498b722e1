//! Threads: how they begin and end.

pub(crate) mod clone;
pub(crate) mod exit;
pub(crate) mod waiting;
