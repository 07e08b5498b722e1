//! A system call that was interrupted because its thread was stopped.
//!
//! The kernel makes it again when the thread goes on (`arch_do_signal_or_restart` in its `arch/x86/kernel/signal.c`),
//! by what these registers say. Here the thread goes on elsewhere, so the same is done to its registers beforehand.
//! Some calls report an interruption even if no signal was delivered (signal(7)); those that wait without end are made
//! again, too.

use nix::libc::{
    EINTR, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_epoll_wait, SYS_io_getevents, SYS_msgrcv,
    SYS_msgsnd, SYS_restart_syscall, SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop,
    user_regs_struct as Regs,
};

/// The kernel's own error numbers: make the call again, by itself or by `restart_syscall`.
const ERESTARTSYS: i64 = 512;
const ERESTARTNOINTR: i64 = 513;
const ERESTARTNOHAND: i64 = 514;
const ERESTART_RESTARTBLOCK: i64 = 516;

/// Bytes of `syscall` and `int 0x80`.
const LEN: u64 = 2;
/// `int 0x80`, by which the number of `restart_syscall` is 0.
const INT_80: [u8; 2] = [0xcd, 0x80];

/// No system call.
const NONE: u64 = u64::MAX;

/// Has the thread with these registers make its interrupted call again, if it was in one. `code` are the bytes before
/// its pc; `signalled`: whether a signal is about to be delivered, so that a call that reports interruptions does. Returns the
/// call's number and the kernel's error, zeros if there is none.
pub fn make_again(regs: &mut Regs, code: [u8; 2], signalled: impl FnOnce() -> bool) -> [u64; 2] {
    const NO_CALL: [u64; 2] = [0; 2];
    let number = regs.orig_rax;
    regs.orig_rax = NONE;
    if (number as i64) < 0 {
        return NO_CALL;
    }
    let (again, error) = match -(regs.rax as i64) {
        error @ (ERESTARTSYS | ERESTARTNOINTR | ERESTARTNOHAND) => (number, error),
        ERESTART_RESTARTBLOCK if code == INT_80 => (0, ERESTART_RESTARTBLOCK),
        ERESTART_RESTARTBLOCK => (SYS_restart_syscall as u64, ERESTART_RESTARTBLOCK),
        error if error == i64::from(EINTR) && waits_for_ever(number, regs) && !signalled() => {
            (number, ERESTARTNOHAND)
        }
        _ => return NO_CALL,
    };
    regs.rax = again;
    regs.rip -= LEN;
    [number, error as u64]
}

/// Whether the call has no end but what it waits for. (What has a limit of time would wait longer if it were made
/// again; it reports the interruption, as after a stop by any other debugger.)
fn waits_for_ever(number: u64, regs: &Regs) -> bool {
    #[allow(non_upper_case_globals, reason = "names of the C library")]
    match number as i64 {
        SYS_epoll_wait | SYS_epoll_pwait => (regs.r10 as i32) < 0,
        SYS_epoll_pwait2 | SYS_semtimedop => regs.r10 == 0,
        SYS_rt_sigtimedwait => regs.rdx == 0,
        SYS_io_getevents => regs.r8 == 0,
        SYS_semop | SYS_msgrcv | SYS_msgsnd => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::libc::{SYS_nanosleep, SYS_read};

    const SYSCALL: [u8; 2] = [0x0f, 0x05];

    fn regs(number: i64, result: i64) -> Regs {
        crate::task::tests::regs(|regs| {
            (regs.orig_rax, regs.rax) = (number as u64, result as u64);
            regs.rip = 0x1002;
        })
    }

    fn after(number: i64, result: i64, code: [u8; 2]) -> (u64, u64) {
        let mut regs = regs(number, result);
        let call = make_again(&mut regs, code, || false);
        assert_eq!(regs.orig_rax, NONE);
        let again = regs.rip == 0x1000;
        assert_eq!(call[0], if again { number as u64 } else { 0 });
        assert_eq!(call[1] != 0, again);
        (regs.rip, regs.rax)
    }

    #[test]
    fn an_interrupted_call_is_made_again() {
        for error in [ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND] {
            assert_eq!(after(SYS_read, -error, SYSCALL), (0x1000, SYS_read as u64));
        }
        let block = -ERESTART_RESTARTBLOCK;
        assert_eq!(after(SYS_nanosleep, block, SYSCALL), (0x1000, 219));
        assert_eq!(after(162, block, INT_80), (0x1000, 0));
    }

    #[test]
    fn a_call_that_is_over_stays_so() {
        for result in [0, 7, -11, i64::from(-EINTR)] {
            assert_eq!(after(SYS_read, result, SYSCALL), (0x1002, result as u64));
        }
        // Not in a call: rax may hold anything.
        assert_eq!(
            after(-1, -ERESTARTSYS, SYSCALL),
            (0x1002, -ERESTARTSYS as u64)
        );
    }

    #[test]
    fn a_wait_without_end_is_not_interrupted_by_a_stop() {
        let eintr = i64::from(-EINTR);
        let waits = |timeout: i32, signalled| {
            let mut regs = regs(SYS_epoll_wait, eintr);
            regs.r10 = u64::from(timeout as u32);
            make_again(&mut regs, SYSCALL, || signalled);
            regs.rip == 0x1000 && regs.rax == SYS_epoll_wait as u64
        };
        assert!(waits(-1, false));
        assert!(!waits(-1, true) && !waits(50, false));
        assert_eq!(after(SYS_rt_sigtimedwait, eintr, SYSCALL).0, 0x1000);
    }
}
