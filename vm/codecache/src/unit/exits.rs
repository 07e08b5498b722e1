//! Where the fragments of a unit lead.

use super::bound::Bound;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_persist::{FragmentInfo, unit_flag};

/// A place in the image, and what code there may assume.
type Place = (ImageOff, Context);

impl Bound {
    /// Direct exits of the fragments that were executed: the fragment's head, the
    /// exit's target and its context. If there are `heads` (ascending), of the fragments that
    /// begin within `near` bytes of one of them.
    pub fn executed_exits(
        &self,
        heads: &[ImageOff],
        near: u32,
    ) -> impl Iterator<Item = (ImageOff, ImageOff, Context)> {
        let executed = self.executed(self.numbers_near(heads, near));
        executed.flat_map(|info| {
            let exits = self.exits(&info).into_iter();
            exits.map(move |(target, context)| (info.head, target, context))
        })
    }

    /// Where the fragments lead directly that were executed and whose hot code `is_wanted`.
    pub fn exits_of_code(&self, is_wanted: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = Place> {
        let executed = self.executed(self.numbers_near(&[], 0));
        let wanted = executed.filter(move |info| is_wanted(self.bytes(self.place(info))));
        wanted.flat_map(|info| self.exits(&info))
    }

    /// Where the fragment leads directly that is entered for (`off`, `context`), if there is one.
    #[must_use]
    pub fn exits_at(&self, off: ImageOff, context: Context) -> Vec<Place> {
        let hot = self.unit.entrance(off, context).ok().flatten();
        let info = hot.and_then(|hot| self.unit.fragment_at_hot(hot).ok()?);
        info.map(|info| self.exits(&info)).unwrap_or_default()
    }

    /// Where the fragment leads directly; a damaged table leads nowhere.
    fn exits(&self, info: &FragmentInfo) -> Vec<Place> {
        let exits = self.unit.exits(info.number).into_iter().flatten().flatten();
        exits.map(|exit| (exit.target, exit.context)).collect()
    }

    /// Its hot code, from the start of the file.
    fn place(&self, info: &FragmentInfo) -> Range<u64> {
        let start = self.geometry.hot.start;
        start + u64::from(info.hot.start)..start + u64::from(info.hot.end)
    }

    /// Those of these fragments that were executed.
    fn executed(&self, numbers: Vec<u32>) -> impl Iterator<Item = FragmentInfo> {
        let infos = numbers.into_iter();
        let infos = infos.filter_map(|number| self.unit.info(number).ok());
        infos.filter(|info| info.flags & unit_flag::ANTICIPATED == 0)
    }

    /// Numbers of the fragments that begin within `near` bytes of one of `heads` (ascending);
    /// of all if there are none.
    fn numbers_near(&self, heads: &[ImageOff], near: u32) -> Vec<u32> {
        if heads.is_empty() {
            return (0..self.unit.fragments()).collect();
        }
        let mut numbers = Vec::new();
        let mut next = 0;
        for head in heads {
            let first = ImageOff(head.0.saturating_sub_unsigned(near));
            let end = head.0.saturating_add_unsigned(near);
            let mut at = self.unit.first_entry_from(first).max(next);
            while let Ok(entry) = self.unit.entry(at)
                && entry.head.0 <= end
            {
                numbers.push(entry.fragment);
                at += 1;
            }
            next = at;
        }
        numbers
    }
}
