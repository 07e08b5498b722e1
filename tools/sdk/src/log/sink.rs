//! Who takes the events.

use ppin_api::ThreadId;

/// What is done with a piece of the log: some events of one thread, in order.
pub type Sink<'a, const WORDS: usize> =
    &'a dyn Fn(ThreadId, &mut dyn Iterator<Item = [u64; WORDS]>);
