//! The app's trap flag.

/// `si_code` of a single step.
pub const TRAP_TRACE: i32 = 2;
/// TF in rflags.
pub const TRAP_FLAG: u64 = 0x100;

/// The app's trap flag.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrapFlag {
    /// It is on.
    pub on: bool,
    /// The next boundary is one that the app stands at already, or that no trap is due
    /// at (behind a system call).
    pub standing: bool,
    /// It has been turned off by the instruction at hand, behind which a trap is due.
    pub last: bool,
}

impl TrapFlag {
    /// As it is in `flags`.
    #[must_use]
    pub const fn of(flags: u64) -> Self {
        Self {
            on: flags & TRAP_FLAG != 0,
            standing: false,
            last: false,
        }
    }

    /// Whether app instructions trap.
    #[must_use]
    pub const fn traps(self) -> bool {
        self.on || self.last
    }

    /// What `flags` must be while the app runs.
    #[must_use]
    pub const fn applied(self, flags: u64) -> u64 {
        flags & !TRAP_FLAG | if self.traps() { TRAP_FLAG } else { 0 }
    }

    /// `flags` as the app sees them.
    #[must_use]
    pub const fn shown(self, flags: u64) -> u64 {
        flags & !TRAP_FLAG | if self.on { TRAP_FLAG } else { 0 }
    }
}
