//! Where new units will lie: apart from those that this process has, and from each other.
//!
//! A unit says how far from its image it lies. If something else is there, it is mapped elsewhere, and all
//! of its code that is used must be relocated in each run. Nothing is asked, and no memory written to,
//! before there is a unit: most forked children have none.

use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::ImageBase;
use ppin_codecache::CodeCache;
use ppin_codecache::unit::Bound;
use ppin_persist::Geometry;

/// Addresses of units, those of this process and those to be written; none before the first is.
#[derive(Default)]
pub(super) struct Places(Vec<Range<u64>>);

impl Places {
    /// Takes the place of the unit `bytes` of an image at `base`; whether nothing of `code` is there.
    pub(super) fn take(&mut self, code: &CodeCache, bytes: &[u8], base: ImageBase) -> bool {
        let Ok(geometry) = Geometry::peek(bytes, bytes.len() as u64) else {
            return true;
        };
        let start = geometry
            .preferred_hot(base)
            .wrapping_sub(geometry.hot.start);
        if self.0.is_empty() {
            let mapped = code.units().all().map(Bound::range);
            self.0.extend(mapped.map(|(start, end)| start..end));
        }
        self.claim(start..start.saturating_add(geometry.file_len))
    }

    fn claim(&mut self, range: Range<u64>) -> bool {
        let apart = |other: &Range<u64>| other.end <= range.start || range.end <= other.start;
        let free = self.0.iter().all(apart);
        if free {
            self.0.push(range);
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_not_given_again() {
        let mut places = Places::default();
        assert!(places.claim(10..20));
        assert!(places.claim(20..30));
        assert!(places.claim(5..10));
        for taken in [10..20, 19..21, 0..6, 0..40, 12..13] {
            assert!(!places.claim(taken.clone()), "{taken:?}");
        }
        assert!(places.claim(30..31));
    }
}
