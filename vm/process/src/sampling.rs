//! Whether translations are compared with the processor now and then, and what came of it.

use core::fmt;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// Index of the counter of arrivals in a thread's scratch words.
pub const COUNTDOWN: usize = 5;

static ON: AtomicBool = AtomicBool::new(false);

/// Samples are wanted from here on.
pub fn begin() {
    ON.store(true, Relaxed);
}

/// Whether samples are wanted.
#[must_use]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

/// What came of it, for the statistics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Samples taken.
    pub sampled: u64,
    /// Of these, the same in both copies; the rest came to nothing.
    pub equal: u64,
    /// Instructions compared.
    pub instructions: u64,
    /// Time they took.
    pub spent_ns: u64,
}

impl fmt::Display for Figures {
    /// A member of the object, and the comma behind it; nothing if there is no checking.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !is_on() {
            return Ok(());
        }
        let skipped = self.sampled - self.equal;
        write!(
            f,
            "\"check\":{{\"sampled\":{},\"equal\":{},\"skipped\":{skipped},\"instructions\":{},\"time_ns\":{}}},",
            self.sampled, self.equal, self.instructions, self.spent_ns
        )
    }
}
