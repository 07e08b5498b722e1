//! Address kinds. There is no conversion between them by accident: an app
//! address names what the program sees, a cache address where its translation
//! lies, an image offset either of the two independent of load addresses.

use core::fmt;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address!(
    /// Address of an instruction as the app knows it.
    AppPc(u64)
);
address!(
    /// Address of translated code in the running process.
    CachePc(u64)
);
address!(
    /// Signed distance in bytes from an image base (see [`ImageBase`]) to an app
    /// address. Negative or beyond the image when code refers to a neighbour.
    ImageOff(i32)
);
address!(
    /// App address at which offset 0 of the image *file* would lie, judged by its first
    /// executable segment: `mapping address - file offset`. Code there is named by its
    /// file offset, so no ELF header needs to be read; other segments of the same load
    /// have offsets from the same base.
    ImageBase(u64)
);

impl AppPc {
    /// The address `bytes` further on, wrapping as the CPU does.
    #[must_use]
    pub const fn wrapping_add(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Distance from `base`, or `None` beyond the reach of 32 bits.
    #[must_use]
    pub fn offset_from(self, base: ImageBase) -> Option<ImageOff> {
        let distance = self.0.wrapping_sub(base.0) as i64;
        i32::try_from(distance).ok().map(ImageOff)
    }
}

impl ImageOff {
    /// The app address of this offset in an image loaded at `base`.
    #[must_use]
    pub const fn at(self, base: ImageBase) -> AppPc {
        AppPc(base.0.wrapping_add(self.0 as i64 as u64))
    }

    /// The offset `bytes` further on, or `None` on overflow.
    #[must_use]
    pub fn checked_add(self, bytes: u32) -> Option<Self> {
        let sum = i64::from(self.0) + i64::from(bytes);
        i32::try_from(sum).ok().map(Self)
    }
}

/// A part of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageRange {
    /// First offset.
    pub start: ImageOff,
    /// Behind the last.
    pub end: ImageOff,
}

impl ImageRange {
    /// No part.
    pub const NONE: Self = Self {
        start: ImageOff(0),
        end: ImageOff(0),
    };
    /// Nearly all that offsets reach.
    pub const ALL: Self = Self {
        start: ImageOff(i32::MIN),
        end: ImageOff(i32::MAX),
    };

    /// Of an image at `base`, what lies in `start .. end`; `None` beyond the reach of 32 bits.
    #[must_use]
    pub fn of(base: ImageBase, start: u64, end: u64) -> Option<Self> {
        let off = |at: u64| AppPc(at).offset_from(base);
        Some(Self {
            start: off(start)?,
            end: off(end)?,
        })
    }

    /// Whether all 8 bytes at `off` lie there.
    #[must_use]
    pub fn holds_word(self, off: ImageOff) -> bool {
        let last = off.checked_add(7);
        self.start.0 <= off.0 && last.is_some_and(|last| last.0 < self.end.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_round_trip_on_both_sides_of_the_base() {
        let base = ImageBase(0x7fff_0000_0000);
        for pc in [0x7fff_0000_1234, 0x7ffe_ffff_0000] {
            let off = AppPc(pc).offset_from(base).unwrap();
            assert_eq!(off.at(base), AppPc(pc));
        }
    }

    #[test]
    fn a_range_holds_words_as_a_whole() {
        let base = ImageBase(0x1000);
        let range = ImageRange::of(base, 0x1ff8, 0x2008).unwrap();
        let holds = |at: u64| range.holds_word(AppPc(at).offset_from(base).unwrap());
        assert_eq!(
            [0x1ff7, 0x1ff8, 0x2000, 0x2001].map(holds),
            [false, true, true, false]
        );
        assert_eq!(ImageRange::of(base, 0x2000, 1 << 40), None);
        assert!(
            !ImageRange::NONE.holds_word(ImageOff(0)) && ImageRange::ALL.holds_word(ImageOff(-8))
        );
    }

    #[test]
    fn far_addresses_have_no_offset() {
        assert_eq!(AppPc(0x1_0000_0000).offset_from(ImageBase(0)), None);
    }
}
