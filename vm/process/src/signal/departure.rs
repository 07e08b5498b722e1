//! The last exit of a thread from the code cache at an indirect branch.

/// The last exit of a thread from the code cache at an indirect branch.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Departure {
    /// The branch's target; 0: the exit was of another kind.
    pub target: u64,
    /// Cache address inside the branch ([`ppin_abi::area::Area::left_at`]).
    pub left_at: u64,
    /// Cache address to which the last system call returned.
    pub resumed: u64,
    /// Base of the app's gs.
    pub gs_base: u64,
}

impl Departure {
    /// The thread has left the cache at `left_at` with the branch target `target`. Its last system
    /// call returned to `resumed`.
    #[must_use]
    pub fn new(target: u64, left_at: u64, resumed: u64, gs_base: u64) -> Self {
        Self {
            target,
            left_at,
            resumed,
            gs_base,
        }
    }
}
