//! Which fragments in use are made from the bytes of which pages.

use super::fragment::{FragmentId, Fresh};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_os::mem::{PAGE, page_down};
use ppin_relocator::entrance::NEAR;

/// A fragment, as one of the pages of its source lists it.
#[derive(Debug)]
struct Source {
    /// Where its source begins, in bytes from the page's first; before it, if that is another page.
    first: i32,
    /// App bytes of its trace.
    len: u32,
    id: FragmentId,
}

/// Fragments by the pages of their source; those of a page by where they begin.
#[derive(Debug, Default)]
pub(super) struct Sources(BTreeMap<u64, Vec<Source>>);

impl Sources {
    /// Fragment `id` is in use.
    pub(super) fn add(&mut self, id: FragmentId, fresh: &Fresh) {
        for page in pages_of(fresh) {
            let first = fresh.pc().0.wrapping_sub(page) as i32;
            let listed = self.0.entry(page).or_default();
            let at = listed.partition_point(|other| other.first <= first);
            let len = fresh.code().trace_len();
            listed.insert(at, Source { first, len, id });
        }
    }

    /// Fragment `id` is out of use.
    pub(super) fn remove(&mut self, id: FragmentId, fresh: &Fresh) {
        for page in pages_of(fresh) {
            if let Some(listed) = self.0.get_mut(&page) {
                listed.retain(|other| other.id != id);
            }
        }
    }

    /// Those that share a page with `start .. end`, some more than once.
    pub(super) fn near(&self, start: u64, end: u64) -> impl Iterator<Item = FragmentId> {
        let pages = self.0.range(page_down(start)..end);
        pages.flat_map(|(_, listed)| listed.iter().map(|source| source.id))
    }

    /// Forgets the pages that lie in `start .. end` as a whole: page by page, and not fragment by fragment, of
    /// which there may be hundreds in one.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        let inside = |page: &u64| start <= *page && end - *page >= PAGE;
        let pages = self.0.range(page_down(start)..end).map(|(page, _)| *page);
        for page in pages.filter(inside).collect::<Vec<_>>() {
            self.0.remove(&page);
        }
    }

    /// The traces that hold the app byte at `pc` behind their head, but not far; the nearest head first.
    pub(super) fn around(&self, pc: AppPc) -> impl Iterator<Item = FragmentId> {
        let page = page_down(pc.0);
        let listed = self.0.get(&page).map_or(&[][..], Vec::as_slice);
        let at = (pc.0 - page) as i32;
        let behind = listed.partition_point(|source| source.first < at);
        let before = listed[..behind].iter().rev();
        let near = before.take_while(move |source| at - source.first <= NEAR as i32);
        near.filter(move |source| at - source.first < source.len as i32)
            .map(|source| source.id)
    }
}

/// Pages that its source touches.
fn pages_of(fresh: &Fresh) -> impl Iterator<Item = u64> + use<> {
    let start = fresh.pc().0;
    let last = page_down(start + u64::from(fresh.code().source_len.max(1)) - 1);
    (page_down(start)..=last).step_by(PAGE as usize)
}
