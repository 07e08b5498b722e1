//! Ranges of memory that the program passes as start and length. Both may have any value: sums may
//! wrap, ends may lie beyond all memory.

use ppin_os::mem::PAGE;

/// The address after the last one of a program.
pub(crate) const END: u64 = (1 << 47) - PAGE;

/// A range of whole pages, at least one. It may end beyond the program's address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pages {
    start: u64,
    end: u64,
}

impl Pages {
    /// The pages that a call acts on. `None`: it acts on none, since `start` is not the start of a
    /// page, or the length is 0 or wraps. The kernel refuses such calls, or does nothing.
    #[must_use]
    pub(crate) fn new(start: usize, len: usize) -> Option<Self> {
        let (start, len) = (start as u64, len as u64);
        let end = start.checked_add(len.checked_next_multiple_of(PAGE)?)?;
        (start.is_multiple_of(PAGE) && start < end).then_some(Self { start, end })
    }

    /// The pages of a call that rounds `start` down to a page.
    #[must_use]
    pub(crate) fn around(start: usize, len: usize) -> Option<Self> {
        let within = start % PAGE as usize;
        Self::new(start - within, len.checked_add(within)?)
    }

    /// The pages from `start` up to `end`; `None` if there are none.
    #[must_use]
    pub(crate) fn between(start: u64, end: u64) -> Option<Self> {
        Self::new(start as usize, end.checked_sub(start)? as usize)
    }

    /// First address, and the one after the last.
    #[must_use]
    pub(crate) const fn bounds(self) -> (u64, u64) {
        (self.start, self.end)
    }

    /// Start and length, as arguments of a system call.
    #[must_use]
    pub(crate) const fn args(self) -> [usize; 2] {
        [self.start as usize, (self.end - self.start) as usize]
    }

    /// Whether all pages lie in the program's address space.
    #[must_use]
    pub(crate) const fn is_user(self) -> bool {
        self.end <= END
    }

    /// The pages outside `holes`, of whose pages nothing is left; `None`: no hole lies in the range.
    #[must_use]
    pub(crate) fn without(
        self,
        holes: impl Iterator<Item = (u64, u64)>,
    ) -> Option<alloc::vec::Vec<Self>> {
        let within = |(start, end): &(u64, u64)| *start < self.end && self.start < *end;
        let mut holes: alloc::vec::Vec<_> = holes.filter(within).collect();
        if holes.is_empty() {
            return None;
        }
        holes.sort_unstable();
        let mut left = alloc::vec::Vec::new();
        let mut at = self.start;
        for (start, end) in holes {
            left.extend(Self::between(at, start / PAGE * PAGE));
            at = at.max(end.checked_next_multiple_of(PAGE).unwrap_or(end));
        }
        left.extend(Self::between(at, self.end));
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;

    fn bounds(pages: Option<Pages>) -> Option<(u64, u64)> {
        pages.map(Pages::bounds)
    }

    #[test]
    fn what_wraps_is_nothing() {
        assert_eq!(bounds(Pages::new(0x1000, 1)), Some((0x1000, 0x2000)));
        for (start, len) in [
            (0x1000, 0),
            (0x1001, 1),
            (0x1000, usize::MAX),
            (0x1000, 4096_usize.wrapping_neg()),
        ] {
            assert_eq!(Pages::new(start, len), None, "{start:#x} {len:#x}");
        }
        let most = 4096_usize.wrapping_neg();
        assert_eq!(bounds(Pages::new(0, most)), Some((0, most as u64)));
        assert_eq!(Pages::new(most, 1), None);
        assert_eq!(Pages::around(1, usize::MAX), None);
        assert_eq!(bounds(Pages::around(0x1fff, 2)), Some((0x1000, 0x3000)));
    }

    #[test]
    fn holes_are_left_out() {
        let all = Pages::new(0x1000, 0x9000).unwrap();
        let left = |holes: &[(u64, u64)]| {
            let left = all.without(holes.iter().copied());
            left.map(|it| {
                it.into_iter()
                    .map(Pages::bounds)
                    .collect::<alloc::vec::Vec<_>>()
            })
        };
        assert_eq!(left(&[(0, 0x1000), (0xa000, 0xb000)]), None);
        assert_eq!(
            left(&[(0x4000, 0x6000), (0, 0x2000), (0x5000, 0x5001)]).unwrap(),
            [(0x2000, 0x4000), (0x6000, 0xa000)]
        );
        assert_eq!(
            left(&[(0x3001, 0x3002)]).unwrap(),
            [(0x1000, 0x3000), (0x4000, 0xa000)]
        );
        assert_eq!(left(&[(0, u64::MAX)]).unwrap(), []);
    }
}
