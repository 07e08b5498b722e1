//! Syscall User Dispatch (prctl(2), `PR_SET_SYSCALL_USER_DISPATCH`): what a thread has asked for.

/// A thread's setting; all zero: none. Children begin without.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserDispatch {
    /// Calls may be handed back.
    pub on: bool,
    /// Calls from `start .. start + len` are not looked at.
    pub start: u64,
    /// See above.
    pub len: u64,
    /// Address of the byte, 0: as if it said "block".
    pub selector: u64,
}

impl UserDispatch {
    /// Whether some calls are handed back.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// Whether a call that comes back to `after` is not looked at.
    #[must_use]
    pub fn exempts(&self, after: u64) -> bool {
        !self.on || after.wrapping_sub(self.start) < self.len
    }
}
