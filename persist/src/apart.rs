//! Large units lie apart from small ones.
//!
//! Where a unit lies, from its image, is settled when it is written, by the identity of the image:
//! so those of the dozens of images of a program seldom collide, as long as they are small. A large
//! one among them would collide in nearly every program that has many images, and each of its pages
//! be copied and relocated in each run (libxul's 136 MB: 1.7 million relocations, a tenth of the
//! start of a browser). So large ones lie in a region of their own, nearer to their images.

use crate::layout::PAGE as PAGE_LEN;

const PAGE: i64 = PAGE_LEN as i64;
/// Longest file of a small unit, in bytes.
const SMALL: u32 = 2 << 20;
/// Small units lie at least so far below their images, in bytes, and large ones not as far.
pub const SMALL_FROM: i64 = 0x5400_0000;
/// Large ones lie at least so far below.
const LARGE_FROM: i64 = 0x4400_0000;

/// The displacement of a unit of `file_len` bytes, if a small one would have `displacement`. One
/// that lies elsewhere stays there.
pub(crate) const fn displacement(displacement: i64, file_len: u32) -> i64 {
    let beyond = -displacement - SMALL_FROM;
    if file_len <= SMALL || beyond < 0 {
        return displacement;
    }
    // (Small ones lie in a region of 448 MiB, large ones in one of 256.)
    -(LARGE_FROM + beyond / 7 * 4) / PAGE * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_units_move_once() {
        let small = -SMALL_FROM - 0x1234_5000;
        assert_eq!(displacement(small, SMALL), small);
        let large = displacement(small, SMALL + 1);
        assert_eq!(large % PAGE, 0);
        assert!((LARGE_FROM..SMALL_FROM).contains(&-large), "{large:#x}");
        assert_eq!(displacement(large, SMALL + 1), large);
    }

    #[test]
    fn units_of_low_images_and_others_stay() {
        for elsewhere in [0x5540_0000_0000, -0x1000_0000, 0] {
            assert_eq!(displacement(elsewhere, u32::MAX), elsewhere);
        }
    }
}
