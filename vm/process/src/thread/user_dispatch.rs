//! Syscall User Dispatch (prctl(2), `PR_SET_SYSCALL_USER_DISPATCH`): the setting of a thread.

/// A thread's setting; all zero: none. Children begin without.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserDispatch {
    /// Calls may be dispatched back to the app.
    pub on: bool,
    /// Start of the code range whose calls always pass to the kernel.
    pub start: u64,
    /// Length of that range.
    pub len: u64,
    /// Address of the app's selector byte; 0: as if it said "block".
    pub selector: u64,
}

impl UserDispatch {
    /// Whether some calls may be dispatched back to the app.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// Whether a call that returns to `after` always passes to the kernel.
    #[must_use]
    pub fn exempts(&self, after: u64) -> bool {
        !self.on || after.wrapping_sub(self.start) < self.len
    }
}

#[cfg(test)]
mod tests {
    use super::UserDispatch;

    #[test]
    fn calls_inside_the_range_are_exempt() {
        let range = UserDispatch {
            on: true,
            start: 0x1000,
            len: 0x10,
            selector: 0,
        };
        let exempt = [0xfff, 0x1000, 0x100f, 0x1010].map(|after| range.exempts(after));
        assert_eq!(exempt, [false, true, true, false]);
        assert!(UserDispatch::default().exempts(0x5000), "it is off");
        let none = UserDispatch { len: 0, ..range };
        assert!(!none.exempts(0x1000));
    }
}
