//! Freed blocks of the heap, kept by size for the next to ask: the compiler makes and drops dozens of
//! lists for each trace, and finding a best fit for each takes longer.
//!
//! Blocks have one of a few sizes, so that a list that grows within one stays where it is.

use core::alloc::Layout;
use core::ptr::{self, NonNull};

/// Sizes of small blocks are multiples of this, which is also the alignment of all blocks.
const STEP: usize = 16;
/// Number of small sizes.
const SMALL: usize = 32;
/// Most blocks of a small size that are kept: the others become one with the free memory around
/// them.
const MOST: u16 = 64;
/// Sizes beyond: one and a half times and twice each power of two, from the last small size on.
const LARGE: usize = 8;
/// Most blocks of such a size that are kept.
const MOST_LARGE: u16 = 4;
/// Number of sizes.
const SIZES: usize = SMALL + LARGE;
/// Logarithm of the last small size.
const LAST_SMALL: u32 = (SMALL * STEP).ilog2();

/// A block that is free holds the next one of its size.
type Free = Option<NonNull<u8>>;

/// The blocks of one heap. Its lock is held.
#[derive(Debug)]
pub(super) struct Pools {
    first: [Free; SIZES],
    count: [u16; SIZES],
    /// Most blocks of a large size that are kept. None while the heap is small: each page that it begins is a fault at
    /// start-up, which takes longer than a search for free memory.
    most_large: u16,
}

/// What is asked of the heap for `layout`: blocks that may be kept have one of the sizes.
pub(super) fn rounded(layout: Layout) -> Layout {
    match size(layout) {
        // SAFETY: small numbers, the alignment a power of two.
        Some(size) => unsafe { Layout::from_size_align_unchecked(bytes(size), STEP) },
        None => layout,
    }
}

/// Whether blocks of this layout have one of the sizes.
pub(super) fn has_size(layout: Layout) -> bool {
    size(layout).is_some()
}

/// Which of the sizes a block has.
fn size(layout: Layout) -> Option<usize> {
    let last = layout.size().wrapping_sub(1);
    if layout.align() > STEP {
        None
    } else if last < SMALL * STEP {
        Some(last / STEP)
    } else {
        let power = last.checked_ilog2()?;
        let half = last >> (power - 1) & 1;
        let beyond = 2 * (power - LAST_SMALL) as usize + half;
        (beyond < LARGE).then_some(SMALL + beyond)
    }
}

/// Bytes of a block of a size.
const fn bytes(size: usize) -> usize {
    match size.checked_sub(SMALL) {
        None => (size + 1) * STEP,
        Some(beyond) => (3 + beyond % 2) << (LAST_SMALL as usize - 1 + beyond / 2),
    }
}

impl Pools {
    pub(super) const EMPTY: Self = Self {
        first: [None; SIZES],
        count: [0; SIZES],
        most_large: 0,
    };

    /// The heap is not small any more.
    pub(super) fn keep_large(&mut self) {
        self.most_large = MOST_LARGE;
    }

    /// A block that was kept.
    pub(super) fn take(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let size = size(layout)?;
        let block = self.first[size]?;
        // SAFETY: a kept block holds the next one; it is aligned for that.
        self.first[size] = unsafe { block.cast::<Free>().read() };
        self.count[size] -= 1;
        Some(block)
    }

    /// Keeps a block that was asked for as [`rounded`]; `false`: it has none of the sizes, or there
    /// are enough.
    ///
    /// # Safety
    /// The block is the heap's, of that layout, and nobody uses it any more.
    pub(super) unsafe fn keep(&mut self, block: *mut u8, layout: Layout) -> bool {
        let most = |size| if size < SMALL { MOST } else { self.most_large };
        let Some(size) = size(layout).filter(|size| self.count[*size] < most(*size)) else {
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
    fn blocks_have_few_sizes() {
        let sizes = [1, 16, 17, 500, 512, 513, 768, 769, 1024, 1025, 6145, 8192];
        let rounded_up = sizes.map(|size| rounded(of(size, 8)));
        assert_eq!(
            rounded_up.map(|layout| layout.size()),
            [16, 16, 32, 512, 512, 768, 768, 1024, 1024, 1536, 8192, 8192]
        );
        assert!(rounded_up.iter().all(|layout| layout.align() == 16));
        for other in [of(0, 1), of(8193, 8), of(64, 32), of(1 << 20, 4096)] {
            assert_eq!(rounded(other), other);
        }
    }

    #[test]
    fn each_size_is_its_own() {
        for number in 0..SIZES {
            assert_eq!(size(of(bytes(number), 8)), Some(number));
            assert_ne!(size(of(bytes(number) + 1, 8)), Some(number));
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
    fn not_too_many_are_kept_nor_the_largest() {
        let mut room = vec![[0_u64; 128]; usize::from(MOST) + 1];
        let mut pools = Pools::EMPTY;
        let mut kept = |pools: &mut Pools, size| {
            let blocks = room.iter_mut().filter_map(|block| {
                // SAFETY: the pools write to the first word only, and nothing is taken from them.
                let kept = unsafe { pools.keep(block.as_mut_ptr().cast(), of(size, 8)) };
                kept.then_some(())
            });
            blocks.count()
        };
        assert_eq!(kept(&mut pools, 16), usize::from(MOST));
        assert_eq!(kept(&mut pools, 1024), 0, "the heap is small");
        pools.keep_large();
        assert_eq!(kept(&mut pools, 1024), usize::from(MOST_LARGE));
        assert_eq!(kept(&mut pools, 8193), 0, "of none of the sizes");
    }
}
