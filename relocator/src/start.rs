//! At which addresses code may begin.

use ppin_abi::addr::ImageOff;

/// Addresses that leave `rest` when they are divided by `step`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    step: u64,
    rest: u64,
}

impl Start {
    /// Of cold code, which has records in it.
    pub const COLD: Self = Self { step: 16, rest: 0 };

    /// Of slots.
    pub const SLOTS: Self = Self { step: 8, rest: 0 };

    /// Of the hot code of a fragment that begins at `head` and is entered at hot offset `entry`.
    /// Fields of exits are written to as a whole, so they lie at multiples of 4.
    ///
    /// Where threads arrive by indirect branches, addresses are spread over the multiples of 4: AMD
    /// processors tell indirect branches apart by where the last ones went, of which they keep bits 2
    /// and 3, but few others. (Zen 4: virtual calls of 100 small functions 4.3 times native where
    /// each follows the other, 2.0 like this.) Functions often lie 16, 32 or 64 bytes apart.
    #[must_use]
    pub const fn of_hot(head: ImageOff, entry: u8) -> Self {
        if entry == 0 {
            return Self { step: 4, rest: 0 };
        }
        let place = head.0 as u32;
        let rest = 4 * ((place >> 4).wrapping_add(place >> 6) % 4);
        Self {
            step: 16,
            rest: rest as u64,
        }
    }

    /// The first of them that is not below `address`.
    #[must_use]
    pub const fn from(self, address: u64) -> u64 {
        address + (self.rest.wrapping_sub(address) % self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_place_is_found() {
        assert_eq!([16, 17, 32].map(|at| Start::COLD.from(at)), [16, 32, 32]);
        let plain = Start::of_hot(ImageOff(0x1050), 0);
        assert_eq!([0, 1, 4, 5].map(|at| plain.from(at)), [0, 4, 4, 8]);
        let spread = Start::of_hot(ImageOff(0x10), 43);
        assert_eq!([0, 4, 5, 20].map(|at| spread.from(at)), [4, 4, 20, 20]);
    }

    #[test]
    fn neighbours_are_told_apart() {
        for distance in [16, 32, 64] {
            let mut seen = [0; 4];
            for n in 0..16 {
                let start = Start::of_hot(ImageOff(-0x100 + n * distance), 43);
                seen[start.from(0) as usize / 4] += 1;
            }
            assert_eq!(seen, [4; 4], "{distance}");
        }
    }
}
