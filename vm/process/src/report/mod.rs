//! What is said: reports, statistics, the log, and last words when ppin itself fails.

pub mod diagnosis;
pub mod kept;
pub mod log;
pub mod outlet;
pub mod program;
pub mod stats;
pub mod stderr;
