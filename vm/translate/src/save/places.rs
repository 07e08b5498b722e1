//! Where new units will lie: apart from those that this process has, and from each other.
//!
//! A unit says how far from its image it lies. If something else is there, it is mapped elsewhere, and all
//! of its code that is used must be relocated in each run.

use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::ImageBase;
use ppin_codecache::CodeCache;
use ppin_codecache::unit::Bound;
use ppin_persist::Geometry;

/// Addresses of units.
pub(super) struct Places(Vec<Range<u64>>);

impl Places {
    /// Those that are taken by the units of this process.
    pub(super) fn of(code: &CodeCache) -> Self {
        let all = code.units().all();
        let ranges = all.map(Bound::range).map(|(start, end)| start..end);
        Self(ranges.collect())
    }

    /// Takes the place of the unit `bytes` of an image at `base`; whether nothing is there.
    pub(super) fn take(&mut self, bytes: &[u8], base: ImageBase) -> bool {
        let Ok(geometry) = Geometry::peek(bytes, bytes.len() as u64) else {
            return true;
        };
        let start = geometry
            .preferred_hot(base)
            .wrapping_sub(geometry.hot.start);
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
        let mut places = Places(Vec::new());
        assert!(places.claim(10..20));
        assert!(places.claim(20..30));
        assert!(places.claim(5..10));
        for taken in [10..20, 19..21, 0..6, 0..40, 12..13] {
            assert!(!places.claim(taken.clone()), "{taken:?}");
        }
        assert!(places.claim(30..31));
    }
}
