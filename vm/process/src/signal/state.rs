//! Signal state of a thread. All zero is the state of a new thread.

use super::alt::AltStack;
use super::departure::Departure;
use super::held::Held;
use super::in_call::InCall;
use super::interrupted::Interrupted;
use super::native::Native;
use super::returning::Returning;
use super::sent::Sent;
use super::trap_flag::TrapFlag;
use core::sync::atomic::AtomicBool;
use ppin_os::frame::SigInfo;
use ppin_os::signals::SigSet;

/// Number of interruptions that are remembered.
const INTERRUPTED: usize = 16;

/// Signal state of a thread.
#[derive(Debug)]
#[repr(C)]
pub struct SignalState {
    /// The VM's signal stack: lowest address, bytes.
    pub stack: (u64, u64),
    /// The app's mask, faults included.
    pub mask: SigSet,
    /// The app's alternate stack.
    pub alt: AltStack,
    /// The pending signal; number 0: none.
    pub waiting: SigInfo,
    /// Progress of an app instruction that runs natively.
    pub native: Native,
    /// Fault signals that other threads have sent and that have not come yet.
    pub sent: Sent,
    /// Address of the instruction that runs natively.
    pub native_pc: u64,
    /// Cache address of the trap stub for that instruction.
    pub native_entry: u64,
    /// Another process has asked that this process be left.
    pub leave_requested: bool,
    /// The process is left to itself at the instruction that is to run natively.
    pub leave_at_native: bool,
    /// The leader of a common halt has asked this thread to halt.
    pub halt_requested: AtomicBool,
    /// The thread has halted.
    pub halted: AtomicBool,
    /// The halt has interrupted a system call, which the thread makes again when it goes on.
    pub makes_call_anew: bool,
    /// The pending signal ends the process, whatever its disposition.
    pub waiting_kills: bool,
    /// A signal has come while the thread was in the VM's signal handler: it is dealt with when that returns.
    pub came_meanwhile: bool,
    /// The thread is single-stepped to the next boundary.
    pub stepping: bool,
    /// Address of the instruction that is being stepped over; 0: unknown.
    pub stepped_from: u64,
    /// Where a routine goes on whose return address leads to a trap, because a signal is pending.
    pub routine_return: u64,
    /// The app's trap flag.
    pub trap_flag: TrapFlag,
    /// sigsuspend and the like: the mask to put into the next frame.
    pub saved_mask: Option<SigSet>,
    /// The system call that the thread was in when the program came under ppin.
    pub in_call: InCall,
    /// Fault signals sent to the thread while the app blocks them.
    pub held: Held,
    /// Signals that the thread waits for in `rt_sigtimedwait`.
    pub awaited: SigSet,
    /// Error code, trap number and address of the app's last fault: the kernel
    /// repeats them in every later frame.
    pub last_fault: [u64; 3],
    /// Faults since the VM was entered last.
    pub faults: u32,
    /// Cache address behind the system call that the VM has just handled, if the thread goes on
    /// there: its registers are as the call left them. 0: it does not.
    pub after_call: u64,
    /// The frame by which the thread returns from a handler of the app.
    pub returning: Returning,
    /// The thread's last exit from the cache.
    pub departure: Departure,
    interrupted: [Interrupted; INTERRUPTED],
    next: usize,
}

impl SignalState {
    /// Remembers an interruption for the return from its frame.
    pub fn remember(&mut self, interrupted: Interrupted) {
        // An older frame at the same address no longer exists.
        let _ = self.recall(interrupted.frame);
        self.interrupted[self.next % INTERRUPTED] = interrupted;
        self.next = self.next.wrapping_add(1);
    }

    /// Removes and returns the interruption whose frame is at `frame`.
    pub fn recall(&mut self, frame: u64) -> Option<Interrupted> {
        let mut all = self.interrupted.iter_mut();
        all.find(|i| i.frame == frame && frame != 0)
            .map(core::mem::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn at(frame: u64, pc: u64) -> Interrupted {
        Interrupted {
            frame,
            pc,
            ..Interrupted::default()
        }
    }

    #[test]
    fn an_interruption_is_recalled_once_by_its_frame() {
        let state = &mut testing::thread(0).signals;
        state.remember(at(0x100, 1));
        state.remember(at(0x200, 2));
        assert_eq!(state.recall(0x100).map(|i| i.pc), Some(1));
        assert!(state.recall(0x100).is_none() && state.recall(0).is_none());
        state.remember(at(0x200, 3));
        assert_eq!(
            state.recall(0x200).map(|i| i.pc),
            Some(3),
            "the newer frame"
        );
        assert!(state.recall(0x200).is_none(), "the older one is gone");
    }

    #[test]
    fn the_oldest_interruption_is_forgotten_first() {
        let state = &mut testing::thread(0).signals;
        for n in 1..=INTERRUPTED as u64 + 1 {
            state.remember(at(n, n));
        }
        assert!(state.recall(1).is_none());
        assert!((2..=INTERRUPTED as u64 + 1).all(|n| state.recall(n).is_some()));
    }
}
