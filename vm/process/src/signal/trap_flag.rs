//! The app's trap flag.

/// `si_code` of a single step.
pub const TRAP_TRACE: i32 = ppin_os::c::TRAP_TRACE as i32;
/// TF in rflags.
pub const TRAP_FLAG: u64 = 0x100;

/// The app's trap flag.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrapFlag {
    /// The app has set it.
    pub on: bool,
    /// No trap is due at the next boundary: the app stands there already, or a system call precedes
    /// it.
    pub skip_next: bool,
    /// The current instruction has cleared the flag; one more trap is due after it.
    pub one_more: bool,
}

impl TrapFlag {
    /// The state for app flags `flags`.
    #[must_use]
    pub const fn of(flags: u64) -> Self {
        Self {
            on: flags & TRAP_FLAG != 0,
            skip_next: false,
            one_more: false,
        }
    }

    /// Whether a trap is due after the current app instruction.
    #[must_use]
    pub const fn traps(self) -> bool {
        self.on || self.one_more
    }

    /// The CPU's flags while the app runs with `flags`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_trap_is_due_after_the_flag_was_cleared() {
        let cleared = TrapFlag {
            one_more: true,
            ..TrapFlag::of(0x202)
        };
        assert!(cleared.traps() && !cleared.on);
        assert_eq!(cleared.applied(0x202), 0x302, "the CPU traps");
        assert_eq!(cleared.shown(0x302), 0x202, "the app does not see it");
        let set = TrapFlag::of(0x302);
        assert_eq!([set.applied(0x202), set.shown(0x202)], [0x302; 2]);
        assert_eq!(TrapFlag::default().applied(0x302), 0x202);
    }
}
