//! The last exit of a thread from the code cache at an indirect branch.

/// The last exit of a thread from the code cache at an indirect branch.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Departure {
    /// The branch's target; 0: the exit was of another kind.
    pub target: u64,
    /// Where the thread had arrived last ([`ppin_abi::area::Area::arrival`]).
    pub arrival: u64,
    /// Cache address to which the last system call returned.
    pub resumed: u64,
    /// Base of the app's gs.
    pub gs_base: u64,
}

impl Departure {
    /// The thread has left the cache with the branch target `target`. It had last arrived at
    /// `arrival`, and its last system call returned to `resumed`.
    #[must_use]
    pub fn new(target: u64, arrival: u64, resumed: u64, gs_base: u64) -> Self {
        Self {
            target,
            arrival,
            resumed,
            gs_base,
        }
    }
}
