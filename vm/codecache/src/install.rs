//! The one door into the cache for fresh code: place, relocate, publish.

use crate::bundles::{Cells, were_wanting};
use crate::cache::CodeCache;
use crate::fresh::arena::{Chunk, GRAIN, MakeViews, Space};
use crate::fresh::views::Views;
use crate::fresh::{FragmentId, Fresh, Kind};
use crate::landing;
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_abi::record::stub;
use ppin_images::ImageId;
use ppin_os::{budget, report, stock, time};
use ppin_relocator::{Fragment, Placement, RelocKind, SlotInit, write_stubs};

/// Bytes of a chunk of fresh code.
const CHUNK: u64 = 1 << 20;

/// There is no room: what is there must be saved and flushed first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// Room for one fragment.
#[derive(Debug)]
pub struct Room {
    /// Number of the chunk.
    chunk: usize,
    space: Space,
}

/// How memory for fresh code is to be had.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// By as few calls as possible: the app filters them.
    pub filtered: bool,
    /// At other addresses in each run (`--shuffle`).
    pub shuffled: bool,
}

impl CodeCache {
    /// Writes `fragment`, the translation of `source` at `pc`, into the room that was made for
    /// it, and makes it known.
    pub fn install(
        &mut self,
        Room { chunk: n, space }: Room,
        (image, pc): (ImageId, AppPc),
        fragment: Fragment,
        source: &[u8],
        kind: Kind,
    ) -> FragmentId {
        let info = self.images.get(image);
        let cells = fragment.cells().map(|count| {
            let first = self.images.cells().take(count);
            let first = first.expect("counts are bundled while there are cells");
            Cells { first, count }
        });
        let place = Placement {
            hot: space.hot,
            cold: space.cold,
            slots: space.slots,
            image: info.base,
            cells: cells.map_or(0, |cells| cells.first),
        };
        let chunk = &mut self.fresh.chunks[n];
        write(chunk, &fragment, &place, info.counters);
        if let Some(cells) = cells {
            let rows = fragment.counts.iter().copied();
            self.bundles.keep(cells, rows, info.counters);
        }
        let stubs = u64::from(stub::room(fragment.exits.len()));
        self.figures.code_bytes_new += stubs + (fragment.hot.len() + fragment.cold.len()) as u64;
        // (What was made without cells is not what its key says.)
        let kept = info.may_be_kept() && !were_wanting(self.images.cells(), &fragment);
        let fresh = Fresh::new(fragment, (image, pc), space, source, kind, kept);
        let id = self.fresh.directory.add(fresh);
        chunk.note(space, id);
        id
    }

    /// Room for `fragment` in a chunk within reach of its image. It is to be used at once.
    ///
    /// Though it may refer to no address of the app, the code that it leads to does, and lies near the image. From a
    /// chunk out of reach of that, each exit would take a jump through memory.
    ///
    /// # Errors
    /// The cache is full.
    pub fn make_room(
        &mut self,
        image: ImageId,
        fragment: &Fragment,
        manner: Manner,
    ) -> Result<Room, Full> {
        let info = self.images.get(image);
        let base = if info.has_surroundings() {
            info.base.0
        } else {
            0
        };
        let span = needs(fragment, info.base);
        let head = fragment.head.at(info.base).0;
        let near = hull(span, (head, head.saturating_add(1)));
        let may_lie_near = info.file.is_some() && info.has_surroundings() && !info.crowded;
        if let Some(room) = self.room_within(near, fragment) {
            return Ok(room);
        }
        if may_lie_near && !self.is_full() {
            if let Ok(room) = self.map_chunk(base, near, fragment, manner) {
                return Ok(room);
            }
            self.images.get_mut(image).crowded = true;
        }
        if let Some(room) = self.room_within(span, fragment) {
            return Ok(room);
        }
        match self.is_full() {
            true => Err(Full),
            false => self.add_chunk(base, span, fragment, manner),
        }
    }

    /// Whether one chunk more would be too much.
    fn is_full(&self) -> bool {
        let size = self.fresh.size();
        size + self.chunk_len() > self.fresh.limit && size != 0
    }

    /// Room for `fragment` in the newest chunk that reaches all of `span` and has some.
    fn room_within(&mut self, span: (u64, u64), fragment: &Fragment) -> Option<Room> {
        let mut chunks = self.fresh.chunks.iter_mut().enumerate().rev();
        chunks.find_map(|(chunk, there)| {
            let space = there
                .reaches(span.0, span.1)
                .then(|| there.take(fragment))
                .flatten()?;
            Some(Room { chunk, space })
        })
    }

    /// Whether `fragment`, if it refers to addresses of the app, is sure to find a place within their
    /// reach: around code of files there is always one, and else there may be room already.
    #[must_use]
    pub fn has_place(&self, image: ImageId, fragment: &Fragment) -> bool {
        let info = self.images.get(image);
        if info.file.is_some() {
            return true;
        }
        let (start, end) = needs(fragment, info.base);
        let mut chunks = self.fresh.chunks.iter();
        chunks.any(|chunk| chunk.reaches(start, end) && chunk.fits(fragment))
    }

    fn chunk_len(&self) -> u64 {
        CHUNK.min(self.fresh.limit / 2).next_multiple_of(GRAIN)
    }

    /// Full: no memory can be had, but some has been laid in for after a flush.
    fn add_chunk(
        &mut self,
        base: u64,
        span: (u64, u64),
        fragment: &Fragment,
        manner: Manner,
    ) -> Result<Room, Full> {
        match self.map_chunk(base, span, fragment, manner) {
            Ok(room) => Ok(room),
            Err(_) if !self.fresh.spare.is_empty() => Err(Full),
            Err(_) if budget::is_limited() => report::give_up(format_args!(
                "the limit of address space (ulimit -v) leaves no room for translated code"
            )),
            Err(e) => report::give_up(format_args!(
                "no place for translated code within 2 GiB of {base:#x} ({e})"
            )),
        }
    }

    /// Room in a chunk of its own, for this and others.
    fn map_chunk(
        &mut self,
        base: u64,
        span: (u64, u64),
        fragment: &Fragment,
        manner: Manner,
    ) -> ppin_os::Result<Room> {
        let stubs = stub::room(fragment.exits.len()) as usize;
        let code = stubs + fragment.hot.len() + fragment.cold.len();
        let need = 4 * code as u64 + 64 * fragment.all_slots() as u64;
        let len = self.chunk_len().max(need).next_multiple_of(GRAIN);
        let chunk = Chunk::near(base, span, len, manner.salt(), manner.views())?;
        self.fresh.chunks.push(chunk);
        let n = self.fresh.chunks.len() - 1;
        let space = self.fresh.chunks[n]
            .take(fragment)
            .expect("a new chunk holds a fragment four times over");
        Ok(Room { chunk: n, space })
    }

    /// Lays in room for when the app's filters are in force, and makes all code writable in
    /// place. `for_good`: nothing can be mapped then.
    pub fn lay_in(&mut self, for_good: bool) {
        let len = (4 * CHUNK).min((self.fresh.limit / 2).max(CHUNK));
        self.lay_in_pieces(len, Views::private_at, for_good);
        for chunk in &mut self.fresh.chunks {
            chunk.prepare_for_silence();
        }
    }

    /// Lays in memory for when the app has used up what its limits allow.
    pub fn prepare_for_want(&mut self) {
        stock::fill_under_limit();
        stock::keep();
        if !self.fresh.recycles {
            self.lay_in_pieces(self.chunk_len(), Views::at, true);
        }
    }

    /// Maps room for new code near every image. `for_good`: as much again, so that a full cache
    /// can be flushed into it.
    fn lay_in_pieces(&mut self, len: u64, views: MakeViews, for_good: bool) {
        let before = self.fresh.chunks.len();
        for (_, image) in self.images.iter().filter(|(_, i)| !i.gone) {
            let (base, span) = (image.base.0, image.span);
            let reached = |c: &Chunk| c.reaches(span.0, span.1);
            if self.fresh.chunks[before..].iter().any(reached) {
                continue;
            }
            let room = |len| Chunk::near(base, span, len, 0, views);
            let first = room(len).or_else(|_| room(CHUNK));
            self.fresh.chunks.extend(first);
            if for_good {
                self.fresh.spare.extend(room(len).or_else(|_| room(CHUNK)));
                self.fresh.recycles = true;
            }
        }
    }
}

impl Manner {
    fn salt(self) -> u64 {
        if self.shuffled {
            time::monotonic_ns() & 0x3fff_f000
        } else {
            0
        }
    }

    fn views(self) -> MakeViews {
        if self.filtered {
            Views::private_at
        } else {
            Views::at
        }
    }
}

/// App addresses that the fragment refers to; `(0, 0)`: none, it may lie anywhere.
fn needs(fragment: &Fragment, base: ImageBase) -> (u64, u64) {
    let targets = fragment.relocs.iter().filter_map(|r| match r.kind {
        RelocKind::App(off) => Some(off.at(base).0),
        _ => None,
    });
    targets.fold((0, 0), |span, at| hull(span, (at, at + 1)))
}

/// What holds both; the first may be `(0, 0)`, which is nothing.
fn hull(span: (u64, u64), more: (u64, u64)) -> (u64, u64) {
    match span {
        (0, 0) => more,
        (low, high) => (low.min(more.0), high.max(more.1)),
    }
}

/// Writes the fragment's sections at `place` with relocations applied, the stubs of its exits, and its slots. It counts
/// in `counters` of the image.
fn write(chunk: &mut Chunk, fragment: &Fragment, place: &Placement, counters: u64) {
    let exits = fragment.exits.len();
    let (stubs, room) = (place.stub(0, exits), stub::room(exits) as usize);
    let (to_hot, to_stubs) = (chunk.writable(place.hot), chunk.writable(stubs));
    // SAFETY: the arena has just handed out this room, and nobody knows it yet.
    let (hot, cold, slots) = unsafe {
        (
            core::slice::from_raw_parts_mut(to_hot as *mut u8, fragment.hot.len()),
            core::slice::from_raw_parts_mut(to_stubs as *mut u8, room + fragment.cold.len()),
            core::slice::from_raw_parts_mut(place.slots as *mut u64, fragment.all_slots()),
        )
    };
    let (before, cold) = cold.split_at_mut(room);
    hot.copy_from_slice(&fragment.hot);
    cold.copy_from_slice(&fragment.cold);
    let exit_slots = place.slots + 8 * fragment.slots.len() as u64;
    write_stubs(exits, stubs, exit_slots, before).expect("a chunk is within reach of itself");
    if let Err(e) = ppin_relocator::apply(fragment, place, hot, cold) {
        report::give_up(format_args!(
            "{:?} is out of reach of its translation",
            e.reloc.kind
        ));
    }
    write_slots(slots, fragment, place, counters);
}

/// Writes what the `slots` of `fragment` hold at first; its exits lead into their stubs.
fn write_slots(slots: &mut [u64], fragment: &Fragment, place: &Placement, counters: u64) {
    let (slots, exit_slots) = slots.split_at_mut(fragment.slots.len());
    for (slot, init) in slots.iter_mut().zip(&fragment.slots) {
        *slot = match init {
            SlotInit::App(off) => off.at(place.image).0,
            SlotInit::Landing(off) => landing::open_value(off.at(place.image).0),
            SlotInit::Prediction(off) => off.at(place.image).0.wrapping_neg(),
            SlotInit::Entry => place.hot + u64::from(fragment.entry),
            SlotInit::Behind(off) | SlotInit::Case(off) => place.hot + u64::from(*off),
            SlotInit::Cold(off) => place.cold + u64::from(*off),
            SlotInit::ImageCounters => counters,
            SlotInit::Bundles(_) => place.cells,
        };
    }
    let exits = exit_slots.len();
    for (number, slot) in exit_slots.iter_mut().enumerate() {
        *slot = place.stub(number, exits) + u64::from(stub::LEAVE);
    }
}
