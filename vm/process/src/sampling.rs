//! `--check=sample`: whether translations are compared with native execution now and then, and the
//! results so far.

use core::fmt;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// Index of the countdown to the next sample in a thread's scratch words.
pub const COUNTDOWN: usize = 5;

static ON: AtomicBool = AtomicBool::new(false);

/// Turns sampling on.
pub fn begin() {
    ON.store(true, Relaxed);
}

/// Whether sampling is on.
#[must_use]
pub fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Results of sampling, for the statistics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Samples taken.
    sampled: u64,
    /// Samples in which both copies agreed. The others ended without a result.
    equal: u64,
    /// Instructions compared.
    instructions: u64,
    /// Time that samples took, in nanoseconds.
    spent_ns: u64,
}

impl Figures {
    /// Adds a sample that took `ns` nanoseconds. `agreed`: instructions that were equal; `None`: the
    /// sample ended without a result.
    pub fn add(&mut self, agreed: Option<u64>, ns: u64) {
        self.sampled += 1;
        self.equal += u64::from(agreed.is_some());
        self.instructions += agreed.unwrap_or(0);
        self.spent_ns += ns;
    }

    /// Time that samples took, in nanoseconds.
    #[must_use]
    pub fn spent_ns(&self) -> u64 {
        self.spent_ns
    }
}

impl fmt::Display for Figures {
    /// Writes a member of the JSON object and a comma; nothing if sampling is off.
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn samples_without_a_result_count_as_skipped() {
        let mut figures = Figures::default();
        assert_eq!(format!("{figures}"), "", "sampling is off");
        figures.add(Some(40), 7);
        figures.add(None, 5);
        figures.add(Some(2), 1);
        begin();
        let text = format!("{figures}");
        ON.store(false, Relaxed);
        let expected =
            r#""check":{"sampled":3,"equal":2,"skipped":1,"instructions":42,"time_ns":13},"#;
        assert_eq!(text, expected);
    }
}
