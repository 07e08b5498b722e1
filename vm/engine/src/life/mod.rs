//! Life of a process: its start, execution of other programs, its end, and leaving it to itself.
//!
//! ```text
//! boot               from the injector to the app's first instruction
//! attached           the same in a program that runs already
//! answers            of `cpuid`, which the database keeps
//! follow             following an exec; cannot_follow: why that is impossible
//! inherited_filters  whether a program that inherits filters can be followed
//! leave/             a process that is traced, or maps over the runtime, goes on natively
//! end                saving and reporting
//! ```

pub(crate) mod answers;
mod attached;
pub mod boot;
pub(crate) mod cannot_follow;
pub(crate) mod end;
pub(crate) mod follow;
mod inherited_filters;
pub(crate) mod leave;
