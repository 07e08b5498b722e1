//! From the injector's hand to the end: how a process begins, executes other programs, and
//! ends; how it is left to itself.
//!
//! ```text
//! boot               from the injector to the app's first instruction
//! follow             taking the runtime along over an exec; cannot_follow: why not
//! inherited_filters  whether the runtime can go along into a program that inherits filters
//! leave/             a process that is traced, or wants our addresses, goes on by itself
//! end                saving and reporting
//! ```

pub mod boot;
pub(crate) mod cannot_follow;
pub(crate) mod end;
pub(crate) mod follow;
mod inherited_filters;
pub(crate) mod leave;
