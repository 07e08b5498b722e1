//! Freed small blocks of the heap, kept by size for the next to ask: the compiler makes and drops
//! dozens of short lists for each trace, and finding a best fit for each takes longer.
//!
//! Small blocks have one of a few sizes, so that a list that grows within one stays where it is.

use core::alloc::Layout;
use core::ptr::{self, NonNull};

/// Sizes are multiples of this, which is also their alignment.
const STEP: usize = 16;
/// Number of sizes.
const SIZES: usize = 32;
/// Most blocks of one size that are kept: the others become one with the free memory around them.
const MOST: u16 = 64;

/// A block that is free holds the next one of its size.
type Free = Option<NonNull<u8>>;

/// The blocks of one heap. Its lock is held.
#[derive(Debug)]
pub(super) struct Pools {
    first: [Free; SIZES],
    count: [u16; SIZES],
}

/// What is asked of the heap for `layout`: small blocks have one of the sizes.
pub(super) fn rounded(layout: Layout) -> Layout {
    match size(layout) {
        // SAFETY: small numbers, the alignment a power of two.
        Some(size) => unsafe { Layout::from_size_align_unchecked((size + 1) * STEP, STEP) },
        None => layout,
    }
}

/// Whether blocks of this layout have one of the sizes.
pub(super) fn is_small(layout: Layout) -> bool {
    size(layout).is_some()
}

/// Which of the sizes a small block has.
fn size(layout: Layout) -> Option<usize> {
    let size = layout.size().wrapping_sub(1) / STEP;
    (size < SIZES && layout.align() <= STEP).then_some(size)
}

impl Pools {
    pub(super) const EMPTY: Self = Self {
        first: [None; SIZES],
        count: [0; SIZES],
    };

    /// A block that was kept.
    pub(super) fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let size = size(layout)?;
        let block = self.first[size]?;
        // SAFETY: a kept block holds the next one; it is aligned for that.
        self.first[size] = unsafe { block.cast::<Free>().read() };
        self.count[size] -= 1;
        Some(block)
    }

    /// Keeps a block that was asked for as [`rounded`]; `false`: it is not small, or there are
    /// enough.
    ///
    /// # Safety
    /// The block is the heap's, of that layout, and nobody uses it any more.
    pub(super) unsafe fn keep(&mut self, block: *mut u8, layout: Layout) -> bool {
        let Some(size) = size(layout).filter(|size| self.count[*size] < MOST) else {
            return false;
        };
        // SAFETY: the block is at least `STEP` bytes long, and aligned to as many.
        unsafe { ptr::write(block.cast::<Free>(), self.first[size]) };
        self.first[size] = NonNull::new(block);
        self.count[size] += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::vec;

    fn of(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn small_blocks_have_few_sizes() {
        let sizes = [1, 16, 17, 500, 512].map(|size| rounded(of(size, 8)));
        assert_eq!(sizes.map(|layout| layout.size()), [16, 16, 32, 512, 512]);
        assert!(sizes.iter().all(|layout| layout.align() == 16));
        for other in [of(513, 8), of(64, 32), of(1 << 20, 4096)] {
            assert_eq!(rounded(other), other);
        }
    }

    #[test]
    fn a_kept_block_is_given_to_the_next_of_its_size() {
        let mut room = [[0_u64; 4]; 3].map(Box::new);
        let [one, two, three] = room.each_mut().map(|block| block.as_mut_ptr().cast::<u8>());
        let mut pools = Pools::EMPTY;
        let layout = of(32, 8);
        assert_eq!(pools.take(layout), None);
        for block in [one, two, three] {
            // SAFETY: each is 32 bytes long, and used by nobody else.
            assert!(unsafe { pools.keep(block, layout) });
        }
        assert_eq!(pools.take(of(48, 8)), None);
        let taken = [31, 17, 32].map(|size| pools.take(of(size, 1)).map(NonNull::as_ptr));
        assert_eq!(taken, [Some(three), Some(two), Some(one)]);
        assert_eq!(pools.take(layout), None);
    }

    #[test]
    fn large_blocks_are_not_kept_nor_too_many() {
        let mut room = vec![[0_u64; 2]; usize::from(MOST) + 1];
        let mut pools = Pools::EMPTY;
        // SAFETY: as above.
        let mut keep = |block: &mut [u64; 2], size| unsafe {
            pools.keep(block.as_mut_ptr().cast(), of(size, 8))
        };
        assert!(!keep(&mut room[0], 4096));
        let kept = room
            .iter_mut()
            .filter_map(|block| keep(block, 16).then_some(()));
        assert_eq!(kept.count(), usize::from(MOST));
    }
}
