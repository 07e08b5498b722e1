//! The app's trap flag.

/// `si_code` of a single step.
pub const TRAP_TRACE: i32 = ppin_os::c::TRAP_TRACE as i32;
/// `si_code` of a trap whose cause the kernel does not know.
const TRAP_BRKPT: i32 = ppin_os::c::TRAP_BRKPT as i32;
/// TF in rflags.
pub const TRAP_FLAG: u64 = 0x100;

/// Whether a `SIGTRAP` with `code` (`si_code`), whose frame has `flags`, may end a single step.
///
/// Linux reads the cause of a debug exception from the register DR6. When it finds nothing there, it says
/// `TRAP_BRKPT`, as for an `int1`. Virtual machines that share a CPU lose that register now and then (one of
/// a million steps on a busy one), so a trap under the trap flag that says so may be a step.
#[must_use]
pub const fn may_end_step(code: i32, flags: u64) -> bool {
    code == TRAP_TRACE || code == TRAP_BRKPT && flags & TRAP_FLAG != 0
}

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
    fn a_trap_without_a_cause_may_end_a_step_under_the_flag() {
        assert!(may_end_step(TRAP_TRACE, 0x202));
        assert!(may_end_step(TRAP_BRKPT, 0x302));
        assert!(!may_end_step(TRAP_BRKPT, 0x202), "an int1");
        assert!(!may_end_step(0x80, 0x302), "an int3, says the kernel");
    }

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
