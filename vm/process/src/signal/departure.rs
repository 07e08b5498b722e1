//! How a thread left the cache.

/// Where a thread was before it left the cache at an indirect branch.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Departure {
    /// The branch's target; 0: the cache was left otherwise.
    pub target: u64,
    /// Cache address of the fragment that was entered last.
    pub entered: u64,
    /// Where the last system call came back to.
    pub resumed: u64,
    /// Base of its gs.
    pub gs_base: u64,
}

impl Departure {
    /// The thread has left the cache for `target`. It had entered it last at `entered`, and its
    /// last system call came back to `resumed`.
    #[must_use]
    pub fn new(target: u64, entered: u64, resumed: u64, gs_base: u64) -> Self {
        Self {
            target,
            entered,
            resumed,
            gs_base,
        }
    }
}
