//! Whether there is room for more in the heap and for fresh code.

use crate::cache::CodeCache;
use ppin_os::{budget, heap};

/// Whether the heap lasts for work that takes `need` bytes. `filtered`: no memory is mapped any
/// more.
#[must_use]
pub fn lasts(filtered: bool, need: usize) -> bool {
    !is_tight(filtered) || heap::lasts(need)
}

/// Whether we must make do with what we have.
fn is_tight(filtered: bool) -> bool {
    filtered || budget::is_limited()
}

impl CodeCache {
    /// Whether the heap is nearly full: what is known of so many fragments must have room to be
    /// laid out anew, and one more be compiled.
    #[must_use]
    pub fn is_short(&self, filtered: bool) -> bool {
        const ENTRY: usize = 64;
        const COMPILER: usize = 512 << 10;
        let fragments = self.fresh.directory.fragments.len();
        is_tight(filtered) && !lasts(filtered, COMPILER + ENTRY * fragments)
    }

    /// Whether the heap is short and forgetting all fresh code would help. (Where it is full of
    /// other things, flushing again and again would only take time.)
    #[must_use]
    pub fn wants_flush(&self, filtered: bool) -> bool {
        const SOME: usize = 256;
        self.fresh.directory.fragments.len() >= SOME && self.is_short(filtered)
    }
}
