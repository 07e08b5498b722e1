//! The place at which a rule works.

use crate::form::InsId;
use ppin_abi::addr::ImageBase;
use ppin_decode::Ins;

/// An instruction of the trace, in its place.
pub(crate) struct Site<'a> {
    pub id: InsId,
    pub ins: &'a Ins,
    pub image: ImageBase,
}
