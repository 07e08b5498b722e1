//! A system call that a thread was in when the program came under ppin (`ppin attach`), or left it (`ppin detach`).
//!
//! That has interrupted it, and the thread makes it again. A signal with a handler that comes before that has
//! interrupted it as well, and the call may have to say so: a program may wait for just that.

use ppin_abi::addr::AppPc;
use ppin_os::frame::{UContext, greg};
use ppin_os::{Errno, c};

/// The kernel's own errors, by which it says when it makes a call again (`handle_signal` in its
/// `arch/x86/kernel/signal.c`).
const ERESTARTSYS: u64 = 512;
const ERESTARTNOINTR: u64 = 513;

const RESTART_SYSCALL: u64 = c::__NR_restart_syscall as u64;

/// See the module. All zero: there was none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct InCall {
    /// Address of the call's instruction.
    pub pc: AppPc,
    /// The call's number.
    pub number: u64,
    /// The kernel's error; 0: no signal can have interrupted the call any more.
    pub error: u64,
}

impl InCall {
    /// Call `number` at `pc`, which was interrupted for us; what kind it is is not known.
    #[must_use]
    pub const fn interrupted(pc: AppPc, number: u64) -> Self {
        Self {
            pc,
            number,
            error: ERESTARTSYS,
        }
    }

    /// Where a handler with these `flags` that the thread enters at `pc` finds it: behind the call, if the signal has
    /// interrupted that; rax in `context` then says so.
    pub fn left(&mut self, context: &mut UContext, pc: AppPc, flags: u64) -> AppPc {
        /// Bytes of `syscall`.
        const LEN: u64 = 2;
        let rax = &mut context.gregs[greg::RAX];
        if !self.is_over(pc, *rax, flags) {
            return pc;
        }
        *rax = Errno::EINTR.raw() as u64;
        AppPc(pc.0 + LEN)
    }

    /// Has a thread that is about to go on with the call at `pc` make it anew instead: what the kernel remembers of it is
    /// lost with a return from a handler, by which the thread leaves the VM.
    pub fn make_anew(&self, context: &mut UContext, pc: AppPc) {
        let rax = &mut context.gregs[greg::RAX];
        if pc == self.pc && *rax == RESTART_SYSCALL {
            *rax = self.number;
        }
    }

    /// Whether the call says that it was interrupted, if a handler with these `flags` is entered at `pc`, where rax has
    /// this value. The first handler decides.
    fn is_over(&mut self, pc: AppPc, rax: u64, flags: u64) -> bool {
        let error = core::mem::take(&mut self.error);
        let here = error != 0 && pc == self.pc && [self.number, RESTART_SYSCALL].contains(&rax);
        let again = match error {
            ERESTARTNOINTR => true,
            ERESTARTSYS => flags & u64::from(c::SA_RESTART) != 0,
            _ => false,
        };
        here && !again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PC: AppPc = AppPc(0x1000);
    const RESTART: u64 = c::SA_RESTART as u64;

    fn is_over(error: u64, (pc, rax, flags): (AppPc, u64, u64)) -> bool {
        let mut call = InCall {
            pc: PC,
            number: 35,
            error,
        };
        let over = call.is_over(pc, rax, flags);
        assert!(!call.is_over(pc, rax, flags), "the first handler decides");
        assert_eq!(call.number, 35);
        over
    }

    #[test]
    fn a_call_says_that_it_was_interrupted_as_the_kernel_has_it() {
        for (error, flags, over) in [
            (ERESTARTSYS, 0, true),
            (ERESTARTSYS, RESTART, false),
            (ERESTARTNOINTR, 0, false),
            (514, RESTART, true),
            (516, RESTART, true),
        ] {
            assert_eq!(is_over(error, (PC, 35, flags)), over);
            assert_eq!(is_over(error, (PC, RESTART_SYSCALL, flags)), over);
        }
    }

    #[test]
    fn a_thread_that_is_elsewhere_is_in_no_call() {
        assert!(!is_over(514, (AppPc(0x1002), 35, 0)));
        assert!(!is_over(514, (PC, 36, 0)) && !is_over(0, (PC, 35, 0)));
    }
}
