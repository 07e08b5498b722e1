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
    fn far_addresses_have_no_offset() {
        assert_eq!(AppPc(0x1_0000_0000).offset_from(ImageBase(0)), None);
    }
}
