//! A unit that this process has written.

use alloc::vec::Vec;
use ppin_images::ImageId;
use ppin_persist::paths::UnitName;
use ppin_persist::start::{History, UnitPlan};
use ppin_persist::{GROUP, Key};
use ppin_store::Folder;

/// See the module.
#[derive(Debug)]
pub struct Written {
    /// Image whose code it holds.
    pub image: ImageId,
    /// Under which it was written.
    pub key: Key,
    /// Where it lies.
    pub dir: Folder,
    /// Its file.
    pub name: UnitName,
    /// Units that were merged into it.
    pub replaces: Vec<UnitName>,
    /// Length of the file in bytes.
    pub len: usize,
    /// If others were merged into it, which runs have asked for each fragment, this one included.
    pub histories: Vec<History>,
}

impl Written {
    /// So many groups of hot code it has at most.
    pub(super) const fn most_groups(&self) -> u32 {
        (self.len / GROUP) as u32 + 1
    }

    /// Whether it has taken the place of the unit that `part` stands for.
    pub(super) fn replaces(&self, part: &UnitPlan) -> bool {
        let (seq, tag) = part.name;
        part.image == self.key.image && self.replaces.contains(&UnitName { seq, tag })
    }
}
