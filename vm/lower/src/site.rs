//! The place at which a rule works.

use ppin_abi::addr::{ImageBase, ImageRange};
use ppin_decode::Ins;
use ppin_form::InsId;

/// An instruction of the trace, in its place.
pub struct Site<'a> {
    /// Its number in the trace.
    pub id: InsId,
    /// The instruction.
    pub ins: &'a Ins,
    /// Base of the image that it belongs to.
    pub image: ImageBase,
    /// What the loader makes read-only.
    pub sealed: ImageRange,
    /// The instruction that comes before it in the trace, if there is one.
    pub before: Option<&'a Ins>,
    /// The instructions that follow in the trace, if nothing comes between them.
    pub behind: &'a [Ins],
}
