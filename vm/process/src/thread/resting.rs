//! Memory of threads that have ended, for later ones. To map it anew, with its guard pages, and to
//! touch its pages for the first time takes longer than all the rest of a thread's start; and other
//! processors are interrupted when it is unmapped.

use super::thread::Thread;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

/// Most threads whose memory is kept: programs that start one after the other need two, since
/// the next one often begins before the last has quite ended.
const MOST: usize = 4;

/// Threads that have ended, or are about to.
#[derive(Debug, Default)]
pub(super) struct Resting(Vec<*mut Thread>);

impl Resting {
    /// Keeps the memory of `thread`; `false`: there is enough. It may be used again from when
    /// [`Thread::gone`] is set.
    pub(super) fn keep(&mut self, thread: *mut Thread) -> bool {
        let room = self.0.len() < MOST;
        if room {
            self.0.push(thread);
        }
        room
    }

    /// The memory of a thread that is gone.
    pub(super) fn take(&mut self) -> Option<*mut Thread> {
        // SAFETY: the memory of a resting thread stays mapped.
        let gone = |thread: &*mut Thread| unsafe { (**thread).gone.load(Ordering::Acquire) != 0 };
        let at = self.0.iter().rposition(gone)?;
        Some(self.0.swap_remove(at))
    }

    /// Forgets all: this is a forked child, in which some will never be gone.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::thread;

    #[test]
    fn memory_is_used_again_when_its_thread_is_gone() {
        let [one, two] = [0, 1].map(thread);
        let mut resting = Resting::default();
        assert!(resting.keep(one) && resting.keep(two));
        assert!(resting.take().is_none(), "both may still use theirs");
        two.gone.store(1, Ordering::Release);
        assert_eq!(resting.take(), Some(core::ptr::from_mut(two)));
        assert!(resting.take().is_none());
        one.gone.store(1, Ordering::Release);
        resting.clear();
        assert!(resting.take().is_none());
    }

    #[test]
    fn few_are_kept() {
        let mut resting = Resting::default();
        let kept = (0..2 * MOST as u32).filter(|n| resting.keep(thread(*n)));
        assert_eq!(kept.count(), MOST);
    }
}
