//! Checksums: XXH3, 64 bits. They find accidents, not attacks; the directory of a
//! database belongs to its user alone.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// Checksum of a group.
pub(crate) fn group(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// Hash of the app bytes that a fragment was made from.
#[must_use]
pub fn source_hash(app_bytes: &[u8]) -> u64 {
    xxh3_64(app_bytes)
}

/// Checksum of a head, its own checksum field (`field .. field + 8`) left out.
/// `None` if the field lies outside.
pub(crate) fn head(head: &[u8], field: usize) -> Option<u64> {
    let mut hasher = Xxh3Default::new();
    hasher.update(head.get(..field)?);
    hasher.update(head.get(field.checked_add(8)?..)?);
    Some(hasher.digest())
}
