//! A thread's share of signal handling. All zero is the state of a new thread.

use super::alt::AltStack;
use super::departure::Departure;
use super::held::Held;
use super::interrupted::Interrupted;
use super::native::Native;
use super::returning::Returning;
use super::trap_flag::TrapFlag;
use core::sync::atomic::AtomicBool;
use ppin_os::frame::SigInfo;
use ppin_os::signals::SigSet;

/// Interruptions that are remembered for their return.
const INTERRUPTED: usize = 16;

/// See the module.
#[derive(Debug)]
#[repr(C)]
pub struct SignalState {
    /// Our signal stack: lowest address, bytes.
    pub stack: (u64, u64),
    /// The app's mask, faults included.
    pub mask: SigSet,
    /// The app's alternate stack.
    pub alt: AltStack,
    /// The signal that waits; number 0: none.
    pub waiting: SigInfo,
    /// One app instruction is being run in its own place.
    pub native: Native,
    /// Its address.
    pub native_pc: u64,
    /// Cache address of its translation, which only says that there is none.
    pub native_entry: u64,
    /// The thread was asked to leave.
    pub leaving: bool,
    /// The process is left to itself from the instruction on that is to run natively.
    pub departed: bool,
    /// The leader of a common halt has asked this thread .
    pub asked: AtomicBool,
    /// It has halted.
    pub halted: AtomicBool,
    /// The signal that waits ends the process, whatever the program says of it.
    pub doomed: bool,
    /// The thread is being stepped to a boundary.
    pub stepping: bool,
    /// Address of the instruction that is being stepped over; 0: unknown.
    pub stepped_from: u64,
    /// The app's trap flag.
    pub trap_flag: TrapFlag,
    /// sigsuspend and the like: the mask to put into the next frame.
    pub saved_mask: Option<SigSet>,
    /// Fault signals sent to the thread while the app blocks them.
    pub held: Held,
    /// What it waits for in `rt_sigtimedwait`.
    pub awaited: SigSet,
    /// Error code, trap number and address of the app's last fault: the kernel
    /// repeats them in every later frame.
    pub last_fault: [u64; 3],
    /// Faults since the VM was entered last.
    pub faults: u32,
    /// It returns from a handler of the app.
    pub returning: Returning,
    /// How the thread left the cache last.
    pub departure: Departure,
    interrupted: [Interrupted; INTERRUPTED],
    next: usize,
}

impl SignalState {
    /// Remembers an interruption for the return from its frame.
    pub fn remember(&mut self, interrupted: Interrupted) {
        // Whatever lay at its place is gone.
        let _ = self.recall(interrupted.frame);
        self.interrupted[self.next % INTERRUPTED] = interrupted;
        self.next = self.next.wrapping_add(1);
    }

    /// What the frame at `frame` interrupted; forgets it.
    pub fn recall(&mut self, frame: u64) -> Option<Interrupted> {
        let mut all = self.interrupted.iter_mut();
        all.find(|i| i.frame == frame && frame != 0)
            .map(core::mem::take)
    }
}
