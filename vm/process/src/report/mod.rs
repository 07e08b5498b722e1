//! Output of ppin: tool reports, statistics, the log, and crash reports of ppin itself.

pub mod diagnosis;
pub mod kept;
pub mod log;
pub mod outlet;
pub mod program;
pub mod stats;
pub mod stderr;
