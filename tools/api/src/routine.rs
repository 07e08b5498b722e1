//! Analysis routines.

use crate::host::Host;
use core::any::Any;
use ppin_abi::record::MAX_ARGS;

/// A function that translated code calls.
#[derive(Clone, Copy, Debug)]
pub struct Routine {
    /// Name, for listings of translated code.
    pub name: &'static str,
    /// The function.
    pub function: RoutineFn,
}

/// Runs on the thread that executes the instruction, at the same time as others.
/// It must not wait for another thread: signals are held back while it runs.
pub type RoutineFn = fn(&Call<'_>);

/// What an analysis routine is called with.
pub struct Call<'a> {
    /// The tool itself; see [`Call::tool`].
    pub tool: &'a dyn Any,
    /// The process around it.
    pub host: &'a dyn Host,
    /// Values of the arguments named at insertion, in order; the rest are 0.
    pub args: [u64; MAX_ARGS],
}

impl Call<'_> {
    /// The tool by its type, for its state; `None` if it is another tool.
    #[must_use]
    pub fn tool<T: Any>(&self) -> Option<&T> {
        self.tool.downcast_ref()
    }
}
