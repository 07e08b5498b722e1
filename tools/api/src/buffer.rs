//! Records that translated code appends to buffers.

use alloc::vec::Vec;

pub use ppin_abi::buffers::MAX_BUFFERS;

/// Index into [`crate::Tool::buffers`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BufferId(pub u16);

/// A field of a record: an unsigned number, least significant byte first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Where it begins in the record.
    pub offset: u32,
    /// Its bytes: 1, 2, 4 or 8.
    pub bytes: u32,
}

/// A buffer that a tool declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Its name, for listings of translated code.
    pub name: &'static str,
    /// Bytes of a record.
    pub size: u32,
    /// What they hold.
    pub fields: &'static [Field],
}

impl Buffer {
    /// A buffer of records `R`.
    #[must_use]
    pub const fn of<R: Record>(name: &'static str) -> Self {
        Self {
            name,
            size: R::SIZE,
            fields: R::FIELDS,
        }
    }
}

/// The type of a record, made by [`crate::record!`].
pub trait Record: Copy {
    /// Bytes of a record.
    const SIZE: u32;
    /// Its fields, in the order in which [`crate::Ins::append`] takes them.
    const FIELDS: &'static [Field];

    /// The record that `bytes` begin with; `None` if they are too few.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Appends its bytes to `out`, as translated code would; padding is 0.
    fn write(&self, out: &mut Vec<u8>);
}

/// The type of a field.
pub trait Word: Copy {
    /// The number at the beginning of `bytes`; `None` if they are too few.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Puts the number at the beginning of `bytes`, if they are enough.
    fn write(self, bytes: &mut [u8]);
}

macro_rules! words {
    ($($word:ty)*) => {$(
        impl Word for $word {
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
            }

            fn write(self, bytes: &mut [u8]) {
                if let Some(bytes) = bytes.first_chunk_mut() {
                    *bytes = self.to_le_bytes();
                }
            }
        }
    )*};
}

words! { u8 u16 u32 u64 }

/// Makes a struct that is a [`Record`]. Its fields are `u8`, `u16`, `u32` or `u64`, at most six, in
/// the layout of C.
///
/// ```
/// ppin_api::record! {
///     /// An access to memory.
///     pub struct Access {
///         /// The instruction.
///         pub pc: u64,
///         /// What it accesses.
///         pub address: u64,
///     }
/// }
/// use ppin_api::Record;
/// assert_eq!((Access::SIZE, Access::FIELDS[1].offset), (16, 8));
/// ```
#[macro_export]
macro_rules! record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $word:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[repr(C)]
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $word,)*
        }

        impl $crate::Record for $name {
            const SIZE: u32 = core::mem::size_of::<Self>() as u32;
            const FIELDS: &'static [$crate::Field] = &[$(
                $crate::Field {
                    name: stringify!($field),
                    offset: core::mem::offset_of!($name, $field) as u32,
                    bytes: core::mem::size_of::<$word>() as u32,
                },
            )*];

            fn read(bytes: &[u8]) -> Option<Self> {
                Some(Self {
                    $($field: $crate::Word::read(
                        bytes.get(core::mem::offset_of!($name, $field)..)?,
                    )?,)*
                })
            }

            fn write(&self, out: &mut $crate::compiler::Bytes) {
                let start = out.len();
                out.resize(start + core::mem::size_of::<Self>(), 0);
                $($crate::Word::write(
                    self.$field,
                    &mut out[start + core::mem::offset_of!($name, $field)..],
                );)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::record! {
        /// All sizes, with a gap.
        struct Mixed {
            one: u8,
            eight: u64,
            two: u16,
            four: u32,
        }
    }

    #[test]
    fn fields_lie_as_in_c() {
        let places: Vec<_> = Mixed::FIELDS.iter().map(|f| (f.offset, f.bytes)).collect();
        assert_eq!(places, [(0, 1), (8, 8), (16, 2), (20, 4)]);
        assert_eq!(Mixed::FIELDS[3].name, "four");
        let buffer = Buffer::of::<Mixed>("mixed");
        assert_eq!((buffer.size, buffer.fields), (24, Mixed::FIELDS));
    }

    #[test]
    fn records_are_read_back() {
        let record = Mixed {
            one: 1,
            eight: u64::MAX - 7,
            two: 0x203,
            four: 0x0405_0607,
        };
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        assert_eq!(bytes.len(), 24);
        assert_eq!(Mixed::read(&bytes), Some(record));
        assert_eq!(Mixed::read(&bytes[..23]), None);
        assert_eq!(bytes[20..], [7, 6, 5, 4]);
    }
}
