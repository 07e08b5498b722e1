//! Signals with the numbers of faults that a thread sends to another one of its process.
//!
//! They do not queue: one that is sent while a fault of the VM, which has the same number, has been raised but not
//! dealt with yet is lost (`legacy_queue` in the kernel's kernel/signal.c). Natively there is no such fault. So who
//! sends takes down what, and the receiver, when it has dealt with a fault, looks whether that has come.

use super::sets::{FAULTS, bit, is_fault};
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, Ordering};
use ppin_os::proc;

/// What has been sent to a thread and has not come yet. All zero is the state of a new thread.
#[derive(Debug, Default)]
pub struct Sent(AtomicU32);

/// The call that sends is being made. (It is not the bit of a fault.)
const UNDER_WAY: u32 = 1 << 31;

const fn mark(signal: u32) -> u32 {
    bit(signal) as u32
}

impl Sent {
    /// Makes the `call` that sends `signal` to the thread, from another one. The caller holds the VM lock, so that
    /// one sends at a time.
    pub fn send(&self, signal: u32, call: impl FnOnce() -> isize) -> isize {
        debug_assert!(is_fault(signal), "all others queue or can be blocked");
        self.0.fetch_or(mark(signal) | UNDER_WAY, Ordering::SeqCst);
        let result = call();
        if result != 0 {
            self.came(signal);
        }
        self.0.fetch_and(!UNDER_WAY, Ordering::SeqCst);
        result
    }

    /// What was sent as `signal` has come.
    pub fn came(&self, signal: u32) {
        self.0.fetch_and(!mark(signal), Ordering::SeqCst);
    }

    /// Forgets all: a new process begins, to which nothing has been sent.
    pub fn clear(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    /// Takes the number of a signal that has been lost. Called by the receiver, behind a fault.
    pub fn take_lost(&self) -> Option<u32> {
        if self.0.load(Ordering::SeqCst) == 0 {
            return None;
        }
        while self.0.load(Ordering::SeqCst) & UNDER_WAY != 0 {
            spin_loop();
        }
        self.lost_behind(|| {
            let _ = proc::tid();
        })
    }

    /// The same; behind `call`, a system call, all has come that the kernel has, since it never blocks faults.
    fn lost_behind(&self, call: impl FnOnce()) -> Option<u32> {
        call();
        let left = self.0.load(Ordering::SeqCst) & FAULTS as u32;
        let lost = left.checked_ilog2()? + 1;
        self.came(lost);
        Some(lost)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use ppin_os::c;

    #[test]
    fn what_has_not_come_is_lost() {
        let sent = Sent::default();
        assert_eq!(sent.take_lost(), None);
        assert_eq!(sent.send(c::SIGSEGV, || 0), 0);
        assert_eq!(sent.send(c::SIGTRAP, || 0), 0);
        assert_eq!(sent.lost_behind(|| sent.came(c::SIGSEGV)), Some(c::SIGTRAP));
        assert_eq!(sent.take_lost(), None, "it is lost once");
        sent.send(c::SIGSEGV, || 0);
        sent.clear();
        assert_eq!(sent.take_lost(), None);
    }

    #[test]
    fn what_was_not_sent_is_not_lost() {
        let sent = Sent::default();
        assert_eq!(sent.send(c::SIGBUS, || -1), -1);
        assert_eq!(sent.take_lost(), None);
    }

    #[test]
    fn the_receiver_waits_until_the_call_is_over() {
        let sent = &Sent::default();
        std::thread::scope(|scope| {
            sent.send(c::SIGILL, || {
                scope.spawn(move || assert_eq!(sent.take_lost(), None));
                std::thread::sleep(std::time::Duration::from_millis(20));
                -1
            });
        });
    }
}
