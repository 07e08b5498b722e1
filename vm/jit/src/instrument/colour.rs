//! Which of a counter's cells a block adds to ([`ppin_abi::counters`]).
//!
//! It follows from the place of the block in its image, so that the same code always gets the same
//! cell, and the blocks of a loop get different ones. Within a trace no two blocks share one, as
//! far as there are enough.

use ppin_abi::addr::{AppPc, ImageBase};
use ppin_abi::counters::Cells;

/// The choices for one trace.
pub(super) struct Colours {
    cells: Cells,
    image: ImageBase,
    used: [u64; WORDS],
}

const WORDS: usize = 8;

impl Colours {
    pub(super) const fn new(cells: Cells, image: ImageBase) -> Self {
        Self {
            cells,
            image,
            used: [0; WORDS],
        }
    }

    /// The colour for the block at `pc`.
    pub(super) fn choose(&mut self, pc: AppPc) -> u32 {
        let offset = pc.offset_from(self.image).unwrap_or_default();
        let (first, count) = (self.cells.colour_at(offset.0), self.cells.colours());
        let mut order = (0..count).map(|step| (first + step) % count);
        let colour = order.find(|colour| !self.is_used(*colour)).unwrap_or(first);
        let (word, bit) = place(colour);
        self.used[word] |= bit;
        colour
    }

    fn is_used(&self, colour: u32) -> bool {
        let (word, bit) = place(colour);
        self.used[word] & bit != 0
    }
}

const fn place(colour: u32) -> (usize, u64) {
    (colour as usize / 64 % WORDS, 1 << (colour % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::addr::ImageOff;
    use ppin_abi::optimize::Optimize;
    use std::collections::BTreeSet;

    const IMAGE: ImageBase = ImageBase(0x7f00_0000_0000);

    #[test]
    fn blocks_of_a_trace_share_no_cell_and_lie_together() {
        let mut colours = Colours::new(Cells::new(1, Optimize::ALL), IMAGE);
        let chosen: Vec<u32> = (0..200)
            .map(|n| colours.choose(ImageOff(2 * n).at(IMAGE)))
            .collect();
        assert_eq!(chosen.iter().collect::<BTreeSet<_>>().len(), 200);
        assert_eq!(chosen.iter().max(), Some(&199));
    }

    #[test]
    fn the_same_place_has_the_same_colour_wherever_the_image_lies() {
        let at = |base: ImageBase, off| {
            Colours::new(Cells::new(3, Optimize::ALL), base).choose(ImageOff(off).at(base))
        };
        for off in [-4096, -3, 0, 77, 1 << 20] {
            assert_eq!(at(IMAGE, off), at(ImageBase(0x40_0000), off));
        }
    }

    #[test]
    fn where_there_are_too_few_they_are_shared() {
        let cells = Cells::new(64, Optimize::ALL);
        let mut colours = Colours::new(cells, IMAGE);
        assert!((0..200).all(|n| colours.choose(ImageOff(n).at(IMAGE)) < cells.colours()));
        let mut one = Colours::new(Cells::new(1, Optimize::NONE), IMAGE);
        assert!((0..9).all(|n| one.choose(ImageOff(4 * n).at(IMAGE)) == 0));
    }
}
