//! Groups of code.

use core::ops::Range;

/// A stretch of code that is admitted at once, and its fragments. The slots of a
/// hot group's fragments form the slot group of the same number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeGroup {
    /// Number within its section.
    pub number: u32,
    /// Offset from the start of its section, a multiple of the page size.
    pub offset: u32,
    /// Length in bytes, a multiple of the page size.
    pub len: u32,
    /// Numbers of its fragments.
    pub fragments: Range<u32>,
}
