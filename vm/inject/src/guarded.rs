//! The exec itself, which happens only while H watches.
//!
//! H lets a stopped P go, so that P is seen stopped as any process (`T` in /proc, not
//! `t`) and needs no process but the one that continues it. Whether H still watches is
//! therefore asked right before the call; a P that was stopped between the question and
//! the call is sent back by H ([`not_executed`]).
//!
//! # Safety
//!
//! The routine touches no memory but its arguments and the word.
#![allow(unsafe_code)]

use crate::regs::Regs;
use crate::sys::Args;
use crate::word;
use core::arch::global_asm;
use core::sync::atomic::AtomicU32;

/// The result of an exec that H prevented. No system call returns it.
pub const NOT_EXECUTED: isize = isize::MIN;

global_asm!(
    ".pushsection .text.ppin_guarded_exec, \"ax\"",
    ".globl ppin_guarded_exec, ppin_guarded_exec_ask, ppin_guarded_exec_done",
    ".globl ppin_guarded_exec_not",
    ".hidden ppin_guarded_exec, ppin_guarded_exec_ask, ppin_guarded_exec_done",
    ".hidden ppin_guarded_exec_not",
    "ppin_guarded_exec:",
    "mov rax, rsi",
    "mov rcx, rdi",
    "mov r11, rdx",
    "mov rdi, [r11]",
    "mov rsi, [r11 + 8]",
    "mov rdx, [r11 + 16]",
    "mov r10, [r11 + 24]",
    "mov r8, [r11 + 32]",
    "mov r9, [r11 + 40]",
    "ppin_guarded_exec_ask:",
    "cmp dword ptr [rcx], {seized}",
    "jne ppin_guarded_exec_not",
    "syscall",
    "ppin_guarded_exec_done:",
    "ret",
    "ppin_guarded_exec_not:",
    "mov rax, {not_executed}",
    "ret",
    ".popsection",
    seized = const word::SEIZED,
    not_executed = const NOT_EXECUTED,
);

unsafe extern "sysv64" {
    fn ppin_guarded_exec(word: *const AtomicU32, number: usize, args: *const Args) -> isize;
    static ppin_guarded_exec_ask: u8;
    static ppin_guarded_exec_done: u8;
    static ppin_guarded_exec_not: u8;
}

/// Executes system call `number` if the word says that H watches; else
/// [`NOT_EXECUTED`].
///
/// # Safety
/// As for [`crate::sys::Kernel::call`].
pub unsafe fn exec(word: &AtomicU32, number: u32, args: &Args) -> isize {
    // SAFETY: the caller's contract.
    unsafe { ppin_guarded_exec(word, number as usize, args) }
}

/// The registers with which a stopped P goes on without having executed anything, if
/// with its present ones it would still do so.
#[must_use]
pub fn not_executed(regs: &Regs) -> Option<Regs> {
    let [ask, done, not] = [
        &raw const ppin_guarded_exec_ask,
        &raw const ppin_guarded_exec_done,
        &raw const ppin_guarded_exec_not,
    ]
    .map(|label| label as u64);
    let begins_anew = regs.rip == done && to_be_restarted(regs.rax);
    if !(ask..done).contains(&regs.rip) && !begins_anew {
        return None;
    }
    Some(Regs {
        rip: not,
        orig_rax: u64::MAX, // not in a system call, so the kernel repeats none
        ..*regs
    })
}

/// Whether the kernel will repeat the call that gave `rax` (`ERESTARTSYS` and its like,
/// which only a tracer sees).
fn to_be_restarted(rax: u64) -> bool {
    matches!(-(rax as i64), 512..=516)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rip: u64, rax: i64) -> Regs {
        Regs {
            rip,
            rax: rax as u64,
            orig_rax: 59,
            ..Regs::default()
        }
    }

    #[test]
    fn it_is_called_only_while_watched() {
        use linux_raw_sys::general::__NR_getpid;
        let call = |state| {
            let word = AtomicU32::new(state);
            // SAFETY: the call takes no argument.
            unsafe { exec(&word, __NR_getpid, &[0; 6]) }
        };
        assert_eq!(call(word::SEIZED), std::process::id() as isize);
        assert_eq!(call(word::LOOSE), NOT_EXECUTED);
        assert_eq!(call(word::GONE), NOT_EXECUTED);
    }

    #[test]
    fn who_would_still_execute_is_sent_back() {
        let ask = (&raw const ppin_guarded_exec_ask) as u64;
        let done = (&raw const ppin_guarded_exec_done) as u64;
        let sent = |regs: Regs| not_executed(&regs).is_some_and(|new| new.orig_rax == u64::MAX);
        assert!(sent(at(ask, 59)));
        assert!(sent(at(done - 2, 59)), "at the call");
        assert!(sent(at(done, -513)), "the call would be repeated");
        assert!(!sent(at(done, -2)), "it has failed");
        assert!(!sent(at(ask - 1, 59)), "it asks yet");
    }
}
