//! Processes and threads: ids, signals, segments, locks, clocks.

pub mod auxv;
pub(crate) mod copied;
pub mod frame;
pub(crate) mod fsgs;
pub mod futex;
pub mod lock;
pub mod proc;
pub mod processor;
pub mod segment;
pub(crate) mod segments;
pub mod siginfo;
pub mod signals;
pub mod time;
