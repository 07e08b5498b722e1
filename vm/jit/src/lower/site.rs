//! The place at which a rule works.

use ppin_abi::addr::{ImageBase, ImageRange};
use ppin_decode::Ins;
use ppin_form::InsId;

/// An instruction of the trace, in its place.
pub(crate) struct Site<'a> {
    pub id: InsId,
    pub ins: &'a Ins,
    pub image: ImageBase,
    /// What the loader makes read-only.
    pub sealed: ImageRange,
    /// The instruction that comes before it in the trace, if there is one.
    pub before: Option<&'a Ins>,
    /// The instructions that follow in the trace, if nothing comes between them.
    pub behind: &'a [Ins],
}
