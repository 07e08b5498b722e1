//! Signal numbers and sets of them.

use ppin_os::c;
use ppin_os::signals::SigSet;

/// Highest signal number.
pub const MAX_SIGNAL: u32 = 64;

/// Set with only `signal`.
#[must_use]
pub const fn bit(signal: u32) -> SigSet {
    1 << (signal - 1)
}

/// Faults that the cache itself needs: never blocked in the kernel.
pub const FAULTS: SigSet =
    bit(c::SIGSEGV) | bit(c::SIGBUS) | bit(c::SIGILL) | bit(c::SIGFPE) | bit(c::SIGTRAP);

/// Whether `signal` is one of [`FAULTS`].
#[must_use]
pub const fn is_fault(signal: u32) -> bool {
    0 < signal && signal <= MAX_SIGNAL && FAULTS & bit(signal) != 0
}

/// Signals that cannot be caught or blocked.
pub const UNCATCHABLE: SigSet = bit(c::SIGKILL) | bit(c::SIGSTOP);

/// The mask to install in the kernel for the app's mask `app`.
#[must_use]
pub const fn kernel_mask(app: SigSet) -> SigSet {
    app & !FAULTS
}

/// All signals but faults.
pub const HOLD_ALL: SigSet = !FAULTS;

/// All signals, faults included: for moments in which a thread cannot handle any.
pub const HOLD_FAULTS_TOO: SigSet = !0;

/// Whether the default action of `signal` ends the process (signal(7)).
#[must_use]
pub const fn default_kills(signal: u32) -> bool {
    !matches!(
        signal,
        c::SIGCHLD
            | c::SIGCONT
            | c::SIGSTOP
            | c::SIGTSTP
            | c::SIGTTIN
            | c::SIGTTOU
            | c::SIGURG
            | c::SIGWINCH
            | c::SIGKILL
    )
}

/// Whether the default action of `signal` is to write a core file (signal(7)).
#[must_use]
pub const fn dumps_core(signal: u32) -> bool {
    matches!(
        signal,
        c::SIGQUIT
            | c::SIGILL
            | c::SIGTRAP
            | c::SIGABRT
            | c::SIGBUS
            | c::SIGFPE
            | c::SIGSEGV
            | c::SIGXCPU
            | c::SIGXFSZ
            | c::SIGSYS
    )
}

/// `SIG_DFL`.
pub const DEFAULT: u64 = 0;
/// `SIG_IGN`.
pub const IGNORE: u64 = 1;
