//! Which app address has which fresh fragment.

use super::fragment::{FragmentId, Fresh, Reached};
use super::sources::Sources;
use alloc::boxed::Box;
use alloc::vec::Vec;
use hashbrown::HashMap;
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::context::Context;
use ppin_images::ImageId;
use ppin_relocator::Fragment;

/// Fragments by number. One by one in the heap: where memory is short, the list grows without
/// a place for all of them in one piece.
#[allow(clippy::vec_box, reason = "see above")]
pub(super) type Fragments = Vec<Box<Fresh>>;

/// What a fragment is found by.
type Key = (AppPc, Context);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    fragments: Fragments,
    /// Sequences and traces in use; of several with one key the newest.
    by_pc: HashMap<Key, FragmentId>,
    /// The newest traps.
    traps: HashMap<Key, FragmentId>,
    /// The trace with this key that was taken out of use last.
    dormant: HashMap<Key, FragmentId>,
    sources: Sources,
    /// Fragments by [`ImageId`].
    by_image: Vec<Vec<FragmentId>>,
    /// So many of the first fragments are in units, or are another process's to save.
    settled: usize,
    /// Fragments that look like parts of string functions, ascending.
    string_code: Vec<FragmentId>,
}

impl Directory {
    /// Drops all but the fragments without a look at it: it may have been left half changed.
    pub(crate) fn disown_tables(&mut self) {
        use core::mem::{forget, take};
        forget(take(&mut self.by_pc));
        forget(take(&mut self.traps));
        forget(take(&mut self.dormant));
        forget(take(&mut self.sources));
    }

    /// All fragments, for their memory's retirement.
    pub(super) fn into_fragments(self) -> Fragments {
        self.fragments
    }

    /// Fragments made since the last flush.
    pub(crate) fn len(&self) -> usize {
        self.fragments.len()
    }

    /// The fragment of this number.
    pub(crate) fn fragment(&self, id: FragmentId) -> &Fresh {
        &self.fragments[id.index()]
    }

    fn fragment_mut(&mut self, id: FragmentId) -> &mut Fresh {
        &mut self.fragments[id.index()]
    }

    /// The fragment in use at `pc` under `context` that may be entered by its address.
    pub(crate) fn get(&self, pc: AppPc, context: Context) -> Option<FragmentId> {
        self.by_pc.get(&(pc, context)).copied()
    }

    /// The trap in use at `pc` that is the same as `code`.
    pub(crate) fn same(&self, pc: AppPc, code: &Fragment) -> Option<FragmentId> {
        let id = *self.traps.get(&(pc, code.context))?;
        let fresh = self.fragment(id);
        (fresh.is_in_use() && fresh.code() == code).then_some(id)
    }

    /// Adds a fragment.
    pub(crate) fn add(&mut self, fresh: Fresh) -> FragmentId {
        let id = FragmentId(self.fragments.len() as u32);
        let found_by = if fresh.is_trap() {
            &mut self.traps
        } else {
            &mut self.by_pc
        };
        found_by.insert(key(&fresh), id);
        let image = fresh.image().0 as usize;
        if self.by_image.len() <= image {
            self.by_image.resize(image + 1, Vec::new());
        }
        self.by_image[image].push(id);
        self.sources.add(id, &fresh);
        self.fragments.push(Box::new(fresh));
        id
    }

    /// The trace in use in whose middle the translation of `pc` is entered, and where: of several the one that begins
    /// nearest before it.
    fn around(&self, pc: AppPc) -> Option<(FragmentId, CachePc)> {
        let enter = |id| Some((id, self.fragment(id).side_entrance(pc)?));
        self.sources.around(pc).find_map(enter)
    }

    /// Where that is, for who is about to lead there.
    pub(crate) fn side_entrance(&mut self, pc: AppPc) -> Option<CachePc> {
        let (id, at) = self.around(pc)?;
        self.fragment_mut(id).mark_entered_aside();
        Some(at)
    }

    /// Whether there is such a place.
    pub(crate) fn holds(&self, pc: AppPc) -> bool {
        self.around(pc).is_some()
    }

    /// The trace at `pc` under `context` that was in use last and may be woken.
    pub(crate) fn dormant(&self, pc: AppPc, context: Context) -> Option<FragmentId> {
        self.dormant.get(&(pc, context)).copied()
    }

    /// Takes fragment `id`, which is dormant, into use.
    pub(crate) fn wake(&mut self, id: FragmentId) {
        let key = key(self.fragment(id));
        self.fragment_mut(id).wake();
        self.dormant.remove(&key);
        self.by_pc.insert(key, id);
        self.sources.add(id, &self.fragments[id.index()]);
    }

    /// Takes fragment `id` out of use: its source has changed, or may have.
    pub(crate) fn kill(&mut self, id: FragmentId) {
        let key = key(self.fragment(id));
        if self.fragment_mut(id).kill()
            && let Some(other) = self.dormant.insert(key, id)
            && other != id
        {
            self.fragment_mut(other).supersede();
        }
        self.sources.remove(id, &self.fragments[id.index()]);
        if self.by_pc.get(&key) == Some(&id) {
            self.by_pc.remove(&key);
        }
    }

    /// Numbers of fragments in use made from bytes in `start .. end`, all of which the caller
    /// takes out of use.
    #[must_use]
    pub(crate) fn take(&mut self, start: u64, end: u64) -> Vec<FragmentId> {
        let mut ids: Vec<FragmentId> = self.sources.near(start, end).collect();
        ids.retain(|id| self.is_live_source(*id, start, end));
        ids.sort_unstable();
        ids.dedup();
        self.sources.forget(start, end);
        ids
    }

    /// Whether a fragment in use was made from bytes in `start .. end`.
    pub(crate) fn is_source(&self, start: u64, end: u64) -> bool {
        let mut near = self.sources.near(start, end);
        near.any(|id| self.is_live_source(id, start, end))
    }

    fn is_live_source(&self, id: FragmentId, start: u64, end: u64) -> bool {
        let fresh = self.fragment(id);
        fresh.is_in_use() && fresh.is_made_from(start, end)
    }

    /// The fragments of `image`, in the order they were made.
    pub(crate) fn of_image(
        &self,
        image: ImageId,
    ) -> impl Iterator<Item = (FragmentId, &Fresh)> + use<'_> {
        let ids = self.by_image.get(image.0 as usize);
        ids.into_iter()
            .flatten()
            .map(|id| (*id, self.fragment(*id)))
    }

    /// The newest fragment looks like part of a string function.
    pub(crate) fn mark_string_code(&mut self) {
        let last = self.fragments.len().checked_sub(1);
        self.string_code
            .extend(last.map(|last| FragmentId(last as u32)));
    }

    /// Whether fragment `id` was marked so.
    pub(crate) fn is_string_code(&self, id: FragmentId) -> bool {
        self.string_code.binary_search(&id).is_ok()
    }

    /// Fragment `id` is in a unit, or need not be in one.
    pub(crate) fn mark_saved(&mut self, id: FragmentId) {
        self.fragment_mut(id).mark_saved();
    }

    /// So are all that there are. (They are not marked one by one: a forked child would copy all of them.)
    pub(crate) fn mark_all_saved(&mut self) {
        self.settled = self.fragments.len();
    }

    /// Whether there may be some that are in no unit.
    pub(crate) fn has_unsaved(&self) -> bool {
        self.settled < self.fragments.len()
    }

    /// How fragment `id` was reached, if it is in use and has still to be saved.
    pub(crate) fn unsaved(&self, id: FragmentId) -> Option<Reached> {
        let fresh = self.fragment(id);
        fresh.unsaved().filter(|_| self.settled <= id.index())
    }

    /// Says how fragment `id` was reached.
    pub(crate) fn mark_reached(&mut self, id: FragmentId, reached: Reached) {
        self.fragment_mut(id).mark_reached(reached);
    }

    /// Nothing has reached the fragments behind the first `count` so far.
    pub(crate) fn mark_anticipated(&mut self, count: usize) {
        for fresh in self.fragments.iter_mut().skip(count) {
            fresh.mark_reached(Reached::Never);
        }
    }
}

fn key(fresh: &Fresh) -> Key {
    (fresh.pc(), fresh.context())
}

#[cfg(test)]
mod tests;
