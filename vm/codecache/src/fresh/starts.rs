//! Which fragment's code holds an address: the VM asks several times whenever it is entered.

use super::fragment::FragmentId;
use alloc::vec::Vec;
use ppin_os::mem::PAGE;

/// Fragments by where their code begins, in one part of a chunk.
#[derive(Debug)]
pub(super) struct Starts {
    /// First address of the part.
    base: u64,
    /// Start and number of each fragment, ascending.
    all: Vec<(u64, FragmentId)>,
    /// By page of the part: how many begin before it.
    before: Vec<u32>,
}

impl Starts {
    /// None yet, in a part that begins at `base`.
    pub fn new(base: u64) -> Self {
        Self {
            base,
            all: Vec::new(),
            before: Vec::new(),
        }
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.all.clear();
        self.before.clear();
    }

    /// The code of `id` begins at `start`, behind that of all others.
    pub fn push(&mut self, start: u64, id: FragmentId) {
        let pages = self.page(start) + 1;
        if self.before.len() < pages {
            self.before.resize(pages, self.all.len() as u32);
        }
        self.all.push((start, id));
    }

    /// The last fragment that begins at `addr` or before it.
    pub fn find(&self, addr: u64) -> Option<FragmentId> {
        let page = self.page(addr);
        let before = |page: usize| {
            self.before
                .get(page)
                .map_or(self.all.len(), |n| *n as usize)
        };
        let (low, high) = (before(page), before(page + 1));
        let here = self.all[low..high].partition_point(|(start, _)| *start <= addr);
        let last = (low + here).checked_sub(1)?;
        Some(self.all[last].1)
    }

    fn page(&self, addr: u64) -> usize {
        (addr.saturating_sub(self.base) / PAGE) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: u64 = 0x10_0000;

    proptest! {
        #[test]
        fn the_last_that_begins_before_an_address_is_found(
            gaps in proptest::collection::vec(1..3 * PAGE, 0..40),
            asked in 0..50 * PAGE,
        ) {
            let mut starts = Starts::new(BASE);
            let mut at = BASE;
            let mut all = Vec::new();
            for (number, gap) in gaps.into_iter().enumerate() {
                starts.push(at, FragmentId(number as u32));
                all.push(at);
                at += gap;
            }
            let asked = BASE + asked;
            let expected = all.iter().rposition(|start| *start <= asked);
            prop_assert_eq!(starts.find(asked).map(FragmentId::index), expected);
        }
    }

    #[test]
    fn before_the_first_there_is_none() {
        let mut starts = Starts::new(BASE);
        assert_eq!(starts.find(BASE), None);
        starts.push(BASE + 5, FragmentId(7));
        assert_eq!(starts.find(BASE + 4), None);
        assert_eq!(starts.find(BASE + 5), Some(FragmentId(7)));
        starts.clear();
        assert_eq!(starts.find(BASE + 5), None);
    }
}
