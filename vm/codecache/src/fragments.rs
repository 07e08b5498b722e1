//! What others ask of fresh code, and say of it.

use crate::cache::CodeCache;
use crate::fresh::{FragmentId, Fresh, Reached};
use ppin_abi::addr::{AppPc, CachePc};
use ppin_abi::area::Area;
use ppin_abi::context::Context;
use ppin_images::ImageId;
use ppin_relocator::{Fragment, FragmentRef};

impl CodeCache {
    /// The fragment of this number.
    #[must_use]
    pub fn fragment(&self, id: FragmentId) -> &Fresh {
        self.fresh.directory.fragment(id)
    }

    /// The fragment of this number with its sections: what is frozen.
    #[must_use]
    pub fn whole_fragment(&self, id: FragmentId) -> FragmentRef<'_> {
        self.fresh.whole(id)
    }

    /// The fragment that was made since the last flush and holds cache address `addr`.
    #[must_use]
    pub fn fragment_at(&self, addr: u64) -> Option<&Fresh> {
        self.fresh_at(addr).map(|id| self.fragment(id))
    }

    /// Fragments made since the last flush, in use or not.
    #[must_use]
    pub fn fragments(&self) -> usize {
        self.fresh.directory.len()
    }

    /// The fragments of `image`, in the order they were made.
    pub(crate) fn fragments_of(
        &self,
        image: ImageId,
    ) -> impl Iterator<Item = (FragmentId, &Fresh)> + use<'_> {
        self.fresh.directory.of_image(image)
    }

    /// The fragment in use at `pc` under `context`.
    #[must_use]
    pub fn known(&self, pc: AppPc, context: Context) -> Option<FragmentId> {
        self.fresh.directory.get(pc, context)
    }

    /// Where fresh code in the middle of a trace is entered that is the translation of `pc` under
    /// [`ppin_abi::context::Context::CANONICAL`].
    pub fn side_entrance(&mut self, pc: AppPc) -> Option<CachePc> {
        self.fresh.directory.side_entrance(pc)
    }

    /// Whether fresh code can be entered so.
    #[must_use]
    pub fn holds(&self, pc: AppPc) -> bool {
        self.fresh.directory.holds(pc)
    }

    /// A trap at `pc` that is the same as `fragment`.
    #[must_use]
    pub fn same_trap(&self, pc: AppPc, fragment: &Fragment) -> Option<FragmentId> {
        self.fresh.directory.same(pc, fragment)
    }

    /// The fragment at `pc` under `context` that was in use last. If its source is watched and
    /// as it was, it may be woken.
    #[must_use]
    pub fn dormant(&self, pc: AppPc, context: Context) -> Option<FragmentId> {
        self.fresh.directory.dormant(pc, context)
    }

    /// Takes a dormant fragment into use.
    pub fn wake(&mut self, id: FragmentId) {
        self.fragment(id).landings().open();
        self.fresh.directory.wake(id);
    }

    /// The fragment made last looks like part of a string function.
    pub fn mark_string_code(&mut self) {
        self.fresh.directory.mark_string_code();
    }

    /// Whether fragment `id` was marked so.
    #[must_use]
    pub fn is_string_code(&self, id: FragmentId) -> bool {
        self.fresh.directory.is_string_code(id)
    }

    /// Fragment `id` is in a unit.
    pub fn mark_saved(&mut self, id: FragmentId) {
        self.fresh.directory.mark_saved(id);
    }

    /// Whether there may be fragments that are in no unit, and are this process's to save.
    #[must_use]
    pub fn has_unsaved(&self) -> bool {
        self.fresh.directory.has_unsaved()
    }

    /// This process is a forked child: its parent saves what there is, and explores.
    pub fn leave_to_parent(&mut self) {
        self.fresh.directory.mark_all_saved();
        self.images.mark_explored();
        self.settle_plan();
        self.figures.counted = false;
    }

    /// Nothing has reached the fragments made since there were `count`.
    pub fn mark_anticipated(&mut self, count: usize) {
        self.fresh.directory.mark_anticipated(count);
    }

    /// Notes that it was found out how code goes on at `entry`: if that is kept, the next run need
    /// not find it out.
    pub(crate) fn learn(&mut self, entry: CachePc) {
        self.figures.learnt += u64::from(self.fresh_at(entry.0).is_none());
    }

    /// Lets indirect branches to `target` go to `entry`; whether they did not yet.
    pub fn link_indirect(&mut self, target: AppPc, entry: CachePc) -> bool {
        let new = self.ibl.insert(target.0, entry.0);
        if new {
            self.learn(entry);
        }
        if let Some(id) = self.fresh_at(entry.0) {
            let directory = &mut self.fresh.directory;
            directory.mark_reached(id, Reached::Indirectly);
        }
        new
    }

    /// Lets the thread with `area`, which is in the VM, find `entry` for `target` by itself. By what
    /// power of 2 it shall wait longer than usual before it brings the next one.
    pub fn bring_near(&mut self, area: &Area, target: AppPc, entry: CachePc) -> u32 {
        let arrival = self.arrival(entry);
        self.ibl.bring_near(area, target.0, entry.0, arrival)
    }

    /// Where indirect jumps and calls arrive that go on at `entry`, if the fragment has room for that.
    pub(crate) fn arrival(&self, entry: CachePc) -> Option<u64> {
        match self.fragment_at(entry.0) {
            Some(fresh) => fresh.arrival(),
            None => self
                .unit_at(entry.0)
                .and_then(|(_, unit)| unit.arrival(entry.0)),
        }
    }

    /// Forgets where calls of the thread with `area` are returned to.
    pub fn forget_returns(&self, area: &Area) {
        self.ibl.forget_returns_of(area);
    }

    /// A thread begins, whose own table of indirect jumps is of zeroes, or known already.
    ///
    /// # Safety
    /// The area stays mapped until [`CodeCache::end_thread`], and its table is of zeroes if it is
    /// not known: what lies there is jumped to.
    pub unsafe fn begin_thread(&mut self, area: *const Area) {
        // SAFETY: the caller's promise.
        unsafe { self.ibl.add_thread(area) };
    }

    /// A thread ends.
    pub fn end_thread(&mut self, area: &Area) {
        self.ibl.remove_thread(area);
    }

    /// This process is a forked child, whose only thread has `area`.
    pub fn keep_only_thread(&mut self, area: &Area) {
        self.ibl.keep_only_thread(area);
    }

    /// Indirect branches that the table did not know.
    #[must_use]
    pub fn indirect_misses(&self) -> u64 {
        self.ibl.misses()
    }

    /// Flushes so far, and 1. A thread that has entered the VM since a flush knows its epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.fresh.epoch
    }

    /// Whether code is kept that was flushed before the last flush.
    #[must_use]
    pub fn keeps_flushed_code(&self) -> bool {
        self.fresh.retired.len() > 1
    }

    /// Most bytes of flushed code that were kept at a time.
    #[must_use]
    pub fn most_flushed_bytes(&self) -> u64 {
        self.fresh.most_retired
    }

    /// Gives back flushed code that no thread can be in. Each knows epoch `oldest` or a later one,
    /// but for those that wait in a system call and then enter the VM: of these the `records` of the
    /// calls are kept, with the fragments that they belong to.
    pub fn reclaim(&mut self, oldest: u64, records: &[u64]) {
        self.fresh.reclaim(oldest, records);
    }

    /// This process has forked, or is the child: its code is shared until one of them writes.
    pub fn seal(&mut self) {
        self.fresh.seal();
    }

    /// Whether `len` bytes of code are sure to fit in without a flush.
    #[must_use]
    pub fn has_room(&self, len: u64) -> bool {
        self.fresh.size() + len <= self.fresh.limit
    }

    /// Fresh code takes at most `limit` bytes from here on.
    pub fn lower_limit(&mut self, limit: u64) {
        self.fresh.limit = self.fresh.limit.min(limit);
    }

    /// Start and end of memory that holds code in use: chunks of fresh code, then units.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let chunks = self.fresh.chunks.iter().map(|chunk| chunk.range());
        chunks.chain(self.units.all().map(|unit| unit.range()))
    }

    /// Start and end of memory that is ours besides: room for after a flush, and retired code.
    pub fn idle_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let spare = self.fresh.spare.iter();
        let retired = self.fresh.retired.iter().flat_map(|it| it.chunks());
        spare.chain(retired).map(|chunk| chunk.range())
    }

    /// The fragments of `image` that are in use and to be saved, as `wanted` says of each. What
    /// may change where it is would be refused by the next run.
    pub fn unsaved(
        &self,
        image: ImageId,
        wanted: impl Fn(&Fresh) -> bool,
    ) -> impl Iterator<Item = FragmentId> {
        let all = self.fragments_of(image);
        let stays = move |fresh: &Fresh| {
            let start = fresh.pc().0;
            let end = start + u64::from(fresh.code().source_len);
            !self.images.may_change(start, end)
        };
        let unsaved = all.filter(move |(id, fresh)| {
            self.fresh.directory.unsaved(*id).is_some() && stays(fresh) && wanted(fresh)
        });
        unsaved.map(|(id, _)| id)
    }
}
