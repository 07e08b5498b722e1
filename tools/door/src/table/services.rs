//! What a tool cannot do without: memory, and an end when it fails.

use super::Text;

/// Passed when the object is opened; valid until the process ends.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Services {
    /// Memory of this size and alignment; null: there is none.
    pub allocate: extern "C" fn(size: usize, align: usize) -> *mut u8,
    /// Takes it back.
    pub free: extern "C" fn(block: *mut u8, size: usize, align: usize),
    /// Another size for it; null: there is none, and the block is as it was.
    pub resize: extern "C" fn(block: *mut u8, size: usize, align: usize, new: usize) -> *mut u8,
    /// The tool cannot go on, for this reason; does not return.
    pub fail: extern "C" fn(why: Text<'_>) -> !,
}
