//! The first step of a reader: a file whose head has been read, not verified.

use crate::head::{Geometry, geometry, parse};
use crate::layout::{CHECKSUM_AT, SectionId};
use crate::record::HeaderRec;
use crate::unit::VerifiedUnit;
use crate::{Key, KeyPart, Reject, checksum};

/// A file whose head has been read, not verified.
#[derive(Clone, Debug)]
pub struct RawUnit<'a> {
    header: HeaderRec,
    tables: &'a [u8],
}

impl<'a> RawUnit<'a> {
    /// `bytes` is the file, at least up to its hot section ([`Geometry::hot`]); code
    /// and slots may be missing because their owner writes to them. `file_len` is the
    /// length of the whole file.
    ///
    /// # Errors
    /// The bytes do not begin a unit of this version, or a length is wrong.
    pub fn new(bytes: &'a [u8], file_len: u64) -> Result<Self, Reject> {
        let header = parse(bytes, file_len)?;
        let tables = header.sections[SectionId::Hot as usize].offset as usize;
        let tables = bytes.get(..tables).ok_or(Reject::TooShort)?;
        if header.head_len as usize > tables.len() {
            return Err(Reject::Impossible);
        }
        Ok(Self { header, tables })
    }

    /// See [`Geometry`].
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        geometry(&self.header)
    }

    /// Verifies the head and that the unit was made for `key`.
    ///
    /// # Errors
    /// The head is damaged or describes an impossible file, or the key is another.
    pub fn verify(self, key: &Key) -> Result<VerifiedUnit<'a>, Reject> {
        let unit = self.verify_any()?;
        let found = unit.key();
        if found.image != key.image {
            return Err(Reject::Key(KeyPart::Image));
        }
        if found.engine != key.engine {
            return Err(Reject::Key(KeyPart::Engine));
        }
        if found.tool != key.tool {
            return Err(Reject::Key(KeyPart::Tool));
        }
        Ok(unit)
    }

    /// Verifies the head, whatever the unit was made for.
    ///
    /// # Errors
    /// The head is damaged or describes an impossible file.
    pub fn verify_any(self) -> Result<VerifiedUnit<'a>, Reject> {
        let head = self.tables.get(..self.header.head_len as usize);
        let sum = head.and_then(|head| checksum::head(head, CHECKSUM_AT));
        if sum != Some(self.header.checksum) {
            return Err(Reject::Head);
        }
        VerifiedUnit::new(self.header, self.tables)
    }
}
