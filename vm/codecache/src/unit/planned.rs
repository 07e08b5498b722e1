//! What is left of a start plan once it was followed.

use alloc::vec::Vec;
use ppin_persist::start::{Groups, History};

/// What a start plan says of a unit, as long as its file is in the state that the plan knows.
#[derive(Clone, Default, Debug)]
pub(super) struct Planned {
    /// Groups that were verified when the file was as it is now.
    pub(super) sound: Groups,
    /// Whether all stubs were verified.
    pub(super) stubs: bool,
    /// Groups that are let run at once.
    pub(super) eager: Groups,
    /// The same, but in whatever state the file is: whether the run needs these cannot be told.
    pub(super) let_run: Groups,
    /// Which of the runs before have asked for each group.
    pub(super) histories: Vec<History>,
    /// This process has written the unit; it counts in `histories` already.
    pub(super) own: bool,
    /// This process has merged its code into another unit, and its file is gone.
    pub(super) replaced: bool,
    /// Nothing is let run at once, to see what is asked for.
    pub(super) watched: bool,
    /// Number of entries and links that need not be asked for.
    pub(super) learnt: usize,
    /// Groups used beyond the eager ones that are nothing new.
    pub(super) beyond: u32,
    /// Entries and links asked for that are nothing new.
    pub(super) unlearnt: usize,
}
