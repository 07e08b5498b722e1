//! The place at which a rule works.

use crate::decode::Ins;
use crate::form::InsId;
use ppin_abi::addr::ImageBase;

/// An instruction of the trace, in its place.
pub(crate) struct Site<'a> {
    pub id: InsId,
    pub ins: &'a Ins,
    pub image: ImageBase,
}
