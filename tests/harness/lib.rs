//! What the end-to-end tests share: building guest programs, finding the `ppin`
//! executable, running a command natively and under ppin and comparing all that
//! a caller can see, reading `--stats`, and single-stepping as the independent
//! truth for counts.
//!
//! Nothing here links against any crate of ppin: these tests see what a user sees.

pub mod build;
pub mod command;
pub mod ppin;
pub mod skip;
pub mod spec;
pub mod stats;
pub mod step;
pub mod talk;
pub mod tool;
pub mod ways;

pub use command::{Cmd, Ended, Outcome};
pub use ppin::Ppin;
