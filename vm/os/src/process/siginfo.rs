//! Signal information of the kernel (arch/x86/include/uapi/asm/siginfo.h).

use crate::c;
use crate::plain::Plain;
use crate::proc;

/// `siginfo_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SigInfo {
    /// Signal number.
    pub signo: i32,
    /// Error number.
    pub errno: i32,
    /// `si_code`.
    pub code: i32,
    pad: i32,
    /// The union; the first word is `si_addr` of faults.
    pub rest: [u64; 14],
}

impl SigInfo {
    /// All zero.
    pub const NONE: Self = Self {
        signo: 0,
        errno: 0,
        code: 0,
        pad: 0,
        rest: [0; 14],
    };

    /// Whether a filter of system calls sent it (seccomp(2), `SECCOMP_RET_TRAP`).
    #[must_use]
    pub fn is_from_filter(&self) -> bool {
        self.signo as u32 == c::SIGSYS && self.code == c::SYS_SECCOMP as i32
    }

    /// A signal that a thread of this process sends to another one (tgkill(2)).
    #[must_use]
    pub fn sent(signal: u32) -> Self {
        let sender = u64::from(proc::pid() as u32) | u64::from(proc::user()) << 32;
        Self::fault(signal, c::SI_TKILL, sender)
    }

    /// A fault as the kernel reports it.
    #[must_use]
    pub fn fault(signal: u32, code: i32, addr: u64) -> Self {
        let mut rest = [0; 14];
        rest[0] = addr;
        Self {
            signo: signal as i32,
            errno: 0,
            code,
            pad: 0,
            rest,
        }
    }
}

// SAFETY: integers only.
unsafe impl Plain for SigInfo {}
