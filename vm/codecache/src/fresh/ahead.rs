//! Pages of a chunk that code will be written to soon, asked for together: a fault for each takes
//! longer, and so does another one for each when it is executed. (Where a fault finds the pages around it in
//! memory, the kernel maps them, too.)

use core::ops::Range;
use ppin_os::mem::{page_down, page_up};

/// Bytes that are left to faults: many runs translate no more.
const FEW: u64 = 32 << 10;
/// Bytes that are asked for at once.
const STEP: u64 = 64 << 10;

/// The pages of one part of a chunk.
#[derive(Debug)]
pub(super) struct Ahead {
    /// End of what has been asked for, or is left to faults.
    until: u64,
    end: u64,
}

impl Ahead {
    /// The pages from `start` to `end`.
    pub fn new(start: u64, end: u64) -> Self {
        Self {
            until: page_up(start + FEW),
            end: page_down(end),
        }
    }

    /// Code is about to be written up to `used`: what is to be asked for.
    pub fn next(&mut self, used: u64) -> Option<Range<u64>> {
        if used <= self.until || self.until >= self.end {
            return None;
        }
        let from = self.until;
        self.until = page_up(used + STEP).min(self.end);
        Some(from..self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_used_is_asked_for_once_and_no_more() {
        let (start, end) = (0x10_0000, 0x14_0000);
        let mut ahead = Ahead::new(start, end);
        assert_eq!(ahead.next(start + FEW), None);
        let mut asked = start + FEW;
        for used in (start..end).step_by(0x300) {
            if let Some(range) = ahead.next(used) {
                assert_eq!(range.start, asked);
                assert!(range.end > used && range.end <= end);
                asked = range.end;
            }
            assert!(used <= asked);
        }
        assert_eq!((asked, ahead.next(end)), (end, None));
    }

    #[test]
    fn a_small_part_is_left_to_faults() {
        assert_eq!(Ahead::new(0x1000, 0x3000).next(0x3000), None);
    }
}
