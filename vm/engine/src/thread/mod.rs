//! Threads: how they begin and end.

pub mod clone;
pub mod exit;
