//! Which of its direct branches a trace follows.

/// A bit for each of the first jumps and conditional branches of a trace, in their order: it goes on where that one
/// leads, and not behind it.
///
/// The trace is longer for it, but a straight line all the same: only branches ahead are followed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Shape(pub u8);

impl Shape {
    /// No branch is followed.
    pub const STRAIGHT: Self = Self(0);
    /// So many branches can be.
    pub const MOST: usize = u8::BITS as usize;

    /// Whether branch number `nth` is followed.
    #[must_use]
    pub const fn follows(self, nth: usize) -> bool {
        nth < Self::MOST && self.0 >> nth & 1 != 0
    }

    /// The same, and branch number `nth` is followed, too, if that can be said.
    #[must_use]
    pub const fn with(self, nth: usize) -> Self {
        if nth < Self::MOST {
            Self(self.0 | 1 << nth)
        } else {
            self
        }
    }

    /// The same, but branch number `nth` is not followed.
    #[must_use]
    pub const fn without(self, nth: usize) -> Self {
        if nth < Self::MOST {
            Self(self.0 & !(1 << nth))
        } else {
            self
        }
    }

    /// Whether no branch is followed.
    #[must_use]
    pub const fn is_straight(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_known_by_number() {
        let shape = Shape::STRAIGHT.with(0).with(7).with(8);
        let followed = |shape: Shape| (0..10).filter(move |nth| shape.follows(*nth));
        assert!(followed(shape).eq([0, 7]));
        assert!(followed(shape.without(0).without(9)).eq([7]));
        assert!(shape.without(0).without(7).is_straight());
    }
}
