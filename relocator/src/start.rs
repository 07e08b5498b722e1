//! At which addresses code may begin.

/// Addresses that leave `rest` when they are divided by `step`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    step: u64,
    rest: u64,
}

impl Start {
    /// Of cold code, which has records in it, whose widest fields have 4 bytes.
    pub const COLD: Self = Self { step: 4, rest: 0 };

    /// Of slots.
    pub const SLOTS: Self = Self { step: 8, rest: 0 };

    /// Of the hot code of a fragment that is entered at hot offset `entry`. Fields of exits are written
    /// to as a whole, so they lie at multiples of 4.
    ///
    /// Where threads arrive by indirect branches, addresses are spread over the multiples of 4: AMD
    /// processors tell indirect branches apart by low bits of where the last ones went, and predict
    /// hardly any whose targets are all multiples of 16. So fragments that were made one after the other,
    /// as those that one branch leads to are, get different ones: this is the `nth` of them.
    #[must_use]
    pub const fn of_hot(entry: u8, nth: usize) -> Self {
        if entry == 0 {
            return Self { step: 4, rest: 0 };
        }
        let rest = 4 * (nth % 4) as u64;
        Self { step: 16, rest }
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
        assert_eq!([16, 17, 20].map(|at| Start::COLD.from(at)), [16, 20, 20]);
        let plain = Start::of_hot(0, 3);
        assert_eq!([0, 1, 4, 5].map(|at| plain.from(at)), [0, 4, 4, 8]);
        let spread = Start::of_hot(43, 1);
        assert_eq!([0, 4, 5, 20].map(|at| spread.from(at)), [4, 4, 20, 20]);
    }

    #[test]
    fn neighbours_are_told_apart() {
        let seen = [0, 1, 2, 3, 4].map(|nth| Start::of_hot(43, nth).from(0x100));
        assert_eq!(seen, [0x100, 0x104, 0x108, 0x10c, 0x100]);
    }
}
