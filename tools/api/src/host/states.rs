//! What the copies of states have come to.

use super::Host;
use crate::state::{StateCopy, StateId};
use alloc::boxed::Box;

/// The states that routines have changed.
pub trait States {
    /// A copy into which those of all threads are merged, ended ones included; `None`: there is no
    /// such state.
    fn merged(&self, id: StateId) -> Option<Box<dyn StateCopy>>;
}

impl dyn Host + '_ {
    /// State `id`, merged over all threads, ended ones included.
    ///
    /// # Panics
    /// The tool has declared no such state, or one of another type.
    #[must_use]
    pub fn state<T: 'static>(&self, id: StateId) -> Box<T> {
        let merged = self.merged(id).map(StateCopy::into_any);
        let typed = merged.and_then(|any| any.downcast().ok());
        typed.expect("a state that the tool has declared with this type")
    }
}
