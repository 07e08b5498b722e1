//! The actions that a filter can return.

/// Action for a call (seccomp(2), "Filters").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The process or the thread ends.
    Kill,
    /// `SIGSYS`.
    Trap,
    /// The call fails with this error number.
    Error(u16),
    /// Another process is asked.
    Ask,
    /// The call is made.
    Allow,
}

const FULL: u32 = 0xffff_0000;
const DATA: u32 = 0x0000_ffff;
/// Larger ones mean this one.
const MAX_ERRNO: u16 = 4095;

impl Action {
    /// By a filter's return value.
    #[must_use]
    pub const fn of(value: u32) -> Self {
        match value & FULL {
            0x0003_0000 => Self::Trap,
            0x0005_0000 => Self::Error(errno(value)),
            // USER_NOTIF, TRACE
            0x7fc0_0000 | 0x7ff0_0000 => Self::Ask,
            // LOG, ALLOW
            0x7ffc_0000 | 0x7fff_0000 => Self::Allow,
            // KILL_PROCESS, KILL_THREAD, and what no kernel knows.
            _ => Self::Kill,
        }
    }

    /// Whether the kernel decides for itself that the call is not made.
    #[must_use]
    pub const fn refuses(self) -> bool {
        matches!(self, Self::Kill | Self::Trap | Self::Error(_))
    }
}

const fn errno(value: u32) -> u16 {
    let errno = (value & DATA) as u16;
    if errno > MAX_ERRNO { MAX_ERRNO } else { errno }
}

/// Order of return values: the lowest of several filters counts.
pub(crate) const fn rank(value: u32) -> i32 {
    (value & FULL).cast_signed()
}
