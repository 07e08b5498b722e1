//! Which app address has which fresh fragment.

use super::arena::Space;
use crate::image::ImageId;
use crate::spot::Maps;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use hashbrown::HashMap;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_os::mem::{PAGE, page_down};
use ppin_relocator::Fragment;

/// A fragment compiled in this process.
#[derive(Debug)]
pub struct Fresh {
    /// As the compiler left it: what is frozen, whatever happened to the copy. What will
    /// not be frozen has only its maps ([`Fresh::keep_maps`]).
    pub code: Fragment,
    /// Length of its hot section.
    pub hot_len: u32,
    /// Image it belongs to.
    pub image: ImageId,
    /// First app instruction.
    pub pc: AppPc,
    /// Where its copy lies.
    pub space: Space,
    /// Hash of the app bytes it was made from.
    pub source_hash: u64,
    /// Those bytes, of volatile fragments only.
    pub source: Box<[u8]>,
    /// It can be found by its address, linked to, and saved.
    pub listed: bool,
    /// Reached by an indirect branch.
    pub indirect: bool,
    /// Nothing had reached it when it was made.
    pub anticipated: bool,
    /// The app bytes have changed or gone, or may have.
    pub dead: bool,
    /// Should they be there again, it may be used again.
    pub again: bool,
    /// Frozen into a unit, or not to be frozen.
    pub saved: bool,
}

impl Fresh {
    /// Drops what only the writer of a unit would need: generators of code can have us make
    /// hundreds of thousands.
    pub fn keep_maps(&mut self) {
        let code = &mut self.code;
        (code.hot, code.cold) = (Vec::new(), Vec::new());
        (code.relocs, code.slots, code.exits) = (Vec::new(), Vec::new(), Vec::new());
    }
}

impl Fresh {
    /// Its maps, if `addr` is in its hot code; `counters` is where those of its image lie, from
    /// `gs`.
    #[must_use]
    pub fn maps(&self, addr: u64, counters: u64) -> Option<Maps> {
        (addr.wrapping_sub(self.space.hot) < u64::from(self.hot_len)).then(|| Maps {
            head: self.pc,
            context: self.code.context,
            hot: self.space.hot,
            rows: self.code.pc_map.clone(),
            counts: self.code.counts.clone(),
            counters,
        })
    }
}

/// Fragments by number. One by one in the heap: where memory is short, the list grows without
/// a place for all of them in one piece.
#[allow(clippy::vec_box, reason = "see above")]
pub type Fragments = Vec<Box<Fresh>>;

/// See the module.
#[derive(Debug, Default)]
pub struct Directory {
    /// By number; numbers are not reused before a flush.
    pub fragments: Fragments,
    by_pc: HashMap<(AppPc, Context), u32>,
    /// The newest fragments that are not listed.
    unlisted: HashMap<(AppPc, Context), u32>,
    /// The newest that are out of use and may be used again.
    dormant: HashMap<(AppPc, Context), u32>,
    /// Fragments by the pages of their source.
    by_page: BTreeMap<u64, Vec<u32>>,
    /// Fragments by [`ImageId`].
    by_image: Vec<Vec<u32>>,
}

impl Directory {
    /// Drops all but the fragments without a look at it: it may have been left half changed.
    pub fn disown_tables(&mut self) {
        use core::mem::{forget, take};
        forget(take(&mut self.by_pc));
        forget(take(&mut self.unlisted));
        forget(take(&mut self.dormant));
        forget(take(&mut self.by_page));
    }

    /// The live fragment at `pc` under `context`.
    #[must_use]
    pub fn get(&self, pc: AppPc, context: Context) -> Option<u32> {
        self.by_pc.get(&(pc, context)).copied()
    }

    /// The live fragment that is the same as `code`, at `pc`, and not listed.
    #[must_use]
    pub fn same(&self, pc: AppPc, code: &Fragment) -> Option<u32> {
        let id = *self.unlisted.get(&(pc, code.context))?;
        let fresh = &self.fragments[id as usize];
        (!fresh.dead && fresh.code == *code).then_some(id)
    }

    /// Adds a fragment.
    pub fn add(&mut self, fresh: Fresh) -> u32 {
        let id = self.fragments.len() as u32;
        if fresh.listed {
            self.by_pc.insert((fresh.pc, fresh.code.context), id);
        } else {
            self.unlisted.insert((fresh.pc, fresh.code.context), id);
        }
        let image = fresh.image.0 as usize;
        if self.by_image.len() <= image {
            self.by_image.resize(image + 1, Vec::new());
        }
        self.by_image[image].push(id);
        self.fragments.push(Box::new(fresh));
        self.list(id);
        id
    }

    fn list(&mut self, id: u32) {
        for page in pages_of(&self.fragments[id as usize]) {
            self.by_page.entry(page).or_default().push(id);
        }
    }

    /// The fragment at `pc` under `context` that was in use last, if it may be again.
    #[must_use]
    pub fn dormant(&self, pc: AppPc, context: Context) -> Option<u32> {
        self.dormant.get(&(pc, context)).copied()
    }

    /// Takes a dormant fragment into use.
    pub fn wake(&mut self, id: u32) {
        let fresh = &mut self.fragments[id as usize];
        fresh.dead = false;
        let key = (fresh.pc, fresh.code.context);
        self.dormant.remove(&key);
        self.by_pc.insert(key, id);
        self.list(id);
    }

    /// Takes fragment `id` out of use: its source has changed, or may have.
    pub fn kill(&mut self, id: u32) {
        let fresh = &mut self.fragments[id as usize];
        fresh.dead = true;
        let key = (fresh.pc, fresh.code.context);
        if fresh.again {
            self.dormant.insert(key, id);
        }
        for page in pages_of(fresh) {
            if let Some(listed) = self.by_page.get_mut(&page) {
                listed.retain(|other| *other != id);
            }
        }
        if self.by_pc.get(&key) == Some(&id) {
            self.by_pc.remove(&key);
        }
    }

    /// Numbers of live fragments made from bytes in `start .. end`, all of which the caller
    /// takes out of use.
    #[must_use]
    pub fn take(&mut self, start: u64, end: u64) -> Vec<u32> {
        let first = page_down(start);
        let listed = self.by_page.range(first..end);
        let mut ids: Vec<u32> = listed.flat_map(|(_, ids)| ids).copied().collect();
        ids.retain(|id| is_made_from(&self.fragments[*id as usize], start, end));
        ids.sort_unstable();
        ids.dedup();
        // Page by page, and not fragment by fragment: there may be hundreds in one.
        let inside = |page: &u64| start <= *page && end - *page >= PAGE;
        let pages = self.by_page.range(first..end).map(|(page, _)| *page);
        for page in pages.filter(inside).collect::<Vec<_>>() {
            self.by_page.remove(&page);
        }
        ids
    }

    /// Whether a live fragment was made from bytes in `start .. end`.
    #[must_use]
    pub fn is_source(&self, start: u64, end: u64) -> bool {
        let listed = self.by_page.range(page_down(start)..end);
        let mut ids = listed.flat_map(|(_, ids)| ids);
        ids.any(|id| is_made_from(&self.fragments[*id as usize], start, end))
    }

    /// Numbers of the fragments of `image`, in the order they were made.
    #[must_use]
    pub fn of_image(&self, image: ImageId) -> &[u32] {
        self.by_image
            .get(image.0 as usize)
            .map_or(&[], Vec::as_slice)
    }
}

/// Whether it is in use and any of its source lies in `start .. end`.
fn is_made_from(fresh: &Fresh, start: u64, end: u64) -> bool {
    let len = u64::from(fresh.code.source_len.max(1));
    !fresh.dead && fresh.pc.0 < end && fresh.pc.0 + len > start
}

/// Pages that its source touches.
fn pages_of(fresh: &Fresh) -> impl Iterator<Item = u64> + use<> {
    let last = page_down(fresh.pc.0 + u64::from(fresh.code.source_len.max(1)) - 1);
    (page_down(fresh.pc.0)..=last).step_by(PAGE as usize)
}
