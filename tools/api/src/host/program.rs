//! The process as a whole.

use alloc::string::String;

/// The process and its program.
pub trait Program {
    /// Process id, as the program sees it.
    fn process_id(&self) -> u32;

    /// Path of the program.
    fn program(&self) -> String;
}
