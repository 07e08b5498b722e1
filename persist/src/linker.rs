//! Where the exits of the fragments of a unit lead: the writer's side of what [`VerifiedUnit::entrance`] finds.
//!
//! [`VerifiedUnit::entrance`]: crate::VerifiedUnit::entrance

use crate::entry::{EntryKey, Indexed};
use crate::spec::UnitSpec;
use hashbrown::HashMap;
use ppin_abi::context::Context;
use ppin_relocator::entrance::NEAR;
use ppin_relocator::{Exit, side_entrance};

/// What there is in the unit.
pub(crate) struct Linker<'a> {
    pub spec: &'a UnitSpec<'a>,
    /// Entry points, sorted.
    pub index: &'a [Indexed],
    /// Where they are entered, in the hot section.
    pub entries: &'a HashMap<EntryKey, u32>,
    /// Where each fragment lies in it.
    pub hot_at: &'a [u32],
}

impl Linker<'_> {
    /// Offset in the hot section of what `exit` leads to, if that is in the unit.
    pub(crate) fn target(&self, exit: &Exit) -> Option<u32> {
        let key = EntryKey::new(exit.target.0, exit.context.0);
        let entry = self.entries.get(&key).copied();
        entry.or_else(|| self.side_entrance(exit))
    }

    /// The same of the middle of a trace.
    fn side_entrance(&self, exit: &Exit) -> Option<u32> {
        if !self.spec.entrances || exit.context != Context::CANONICAL {
            return None;
        }
        let target = exit.target.0;
        let behind = self.index.partition_point(|it| it.key.head() < target);
        let before = self.index[..behind].iter().rev();
        let near = before.take_while(|it| target.abs_diff(it.key.head()) <= NEAR);
        let mut found = near.filter_map(|it| {
            let app = target.abs_diff(it.key.head());
            let piece = &self.spec.fragments[it.fragment as usize];
            let code = (app < it.enters).then_some(&piece.fragment)?;
            let hot = side_entrance(code.pc_map.iter(), app)?;
            let exists = (hot as usize) < code.hot.len();
            exists.then(|| self.hot_at[it.fragment as usize] + hot)
        });
        found.next()
    }
}
