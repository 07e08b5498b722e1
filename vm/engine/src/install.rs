//! The one door into the cache for fresh code: compile, place, relocate, publish.

use crate::budget;
use crate::cache::arena::{Chunk, GRAIN, MakeViews, Space};
use crate::cache::directory::Fresh;
use crate::cache::invalidate;
use crate::cache::views::Views;
use crate::confine::reserve;
use crate::image::{Image, ImageId, Region};
use crate::report;
use crate::served;
use crate::signal::translate::Maps;
use crate::sys::{peek, spare, time};
use crate::vm::Vm;
use alloc::boxed::Box;
use ppin_abi::addr::{AppPc, CachePc, ImageBase};
use ppin_abi::boot::flag;
use ppin_abi::context::Context;
use ppin_jit::{BytesEnd, MAX_TRACE_BYTES, Request, Sequence};
use ppin_relocator::{Fragment, Placement, RelocKind, SlotInit};

/// Bytes of a chunk of fresh code.
const CHUNK: u64 = 1 << 20;

/// Translates `pc` and returns the fragment's entry.
pub fn compile(vm: &mut Vm, pc: AppPc, context: Context) -> CachePc {
    let started = time::ticks();
    let region = crate::image_region(vm, pc);
    let mut buffer = [0; MAX_TRACE_BYTES];
    let (mut len, mut end) = fetch(region, pc, &mut buffer);
    let (image, base) = image_of(vm, region, pc);
    let sequences = vm.rseq.near(pc);
    let mut context = context;
    if let Some(region) = region.filter(|r| r.writable) {
        let first = request(pc, base, context, (&buffer[..len], end), &sequences);
        // No page is guarded that the trace does not touch.
        let likely = ppin_jit::choose(&first).source_len() as usize;
        context = context.with(watched(vm, &region, pc, likely));
        // What was read before the guard stood may be old already.
        (len, end) = fetch_steady(vm, region, pc, likely, &mut buffer);
    }
    let mut request = request(pc, base, context, (&buffer[..len], end), &sequences);
    let mut chosen = ppin_jit::choose(&request);
    let names_sequence = crate::rseq::discover(vm, pc, &chosen);
    let sequences = vm.rseq.near(pc);
    let inside = sequences.iter().any(|sequence| sequence.holds(pc));
    if sequences != request.sequences {
        request.sequences = &sequences;
        chosen = ppin_jit::choose(&request);
    }
    if vm.rseq.watching && !context.contains(Context::WATCHED) {
        return crate::dispatch::lookup(vm, pc, context);
    }
    let fragment = crate::lockstep::compile(&request, &chosen, vm.tool);
    // A fragment that is only a trap is made anew each time: memory may have changed.
    let listed = fragment.instructions != 0;
    if let Some(id) = vm.cache.directory.same(pc, &fragment) {
        return CachePc(vm.cache.directory.fragments[id as usize].space.hot);
    }
    let source = &buffer[..(fragment.source_len as usize).min(len)];
    let count = fragment.instructions;
    let entry = install(vm, image, pc, fragment, source, listed);
    let (at, context) = (entry.0, context.0);
    vm.log_at(
        format_args!("translated to {at:#x}, {count} instructions, context {context}:"),
        pc,
    );
    settle(vm, at, listed, names_sequence || inside);
    vm.stats.traces_compiled += 1;
    vm.stats.time.compile += time::ticks().saturating_sub(started);
    entry
}

/// To translate the trace at `pc`, of which so much can be read.
fn request<'a>(
    pc: AppPc,
    image: ImageBase,
    context: Context,
    (bytes, end): (&'a [u8], BytesEnd),
    sequences: &'a [Sequence],
) -> Request<'a> {
    Request {
        pc,
        image,
        context,
        bytes,
        end,
        max_source: None,
        sequences,
    }
}

/// As [`fetch`], but no more than what is guarded of `likely` bytes.
fn fetch_steady(
    vm: &Vm,
    region: Region,
    pc: AppPc,
    likely: usize,
    buffer: &mut [u8],
) -> (usize, BytesEnd) {
    let (len, end) = fetch(Some(region), pc, buffer);
    let steady = vm.guards.steady(pc.0, likely as u64) as usize;
    if !vm.guards.is_volatile(pc.0) && steady < len {
        return (steady, BytesEnd::Limit);
    }
    (len, end)
}

/// Has changes of the `len` bytes at `pc` noticed; what must be assumed of code there.
fn watched(vm: &mut Vm, region: &Region, pc: AppPc, len: usize) -> Context {
    invalidate::watch(vm, region, pc.0, len as u64);
    if vm.guards.is_volatile(pc.0) {
        vm.guards.care(pc.0, region.shared)
    } else {
        Context::CANONICAL
    }
}

/// What becomes of the fragment at cache address `at` when it is taken out of use or saved.
fn settle(vm: &mut Vm, at: u64, listed: bool, in_sequence: bool) {
    let Some(id) = vm.fresh_at(at) else {
        return;
    };
    let fresh = &mut vm.cache.directory.fragments[id as usize];
    // The next run must find the sequence again.
    fresh.saved |= in_sequence;
    fresh.again = listed && !fresh.saved;
    if listed && !crate::spool::may_save(vm.images.get(fresh.image)) {
        fresh.keep_maps();
    }
}

/// The translation of `pc` that was in use before, if memory holds again, or still, what it
/// was made from: generators of code take the right to execute it away from all they have
/// made whenever they add to it, and write beside what is executed.
pub fn wake(vm: &mut Vm, pc: AppPc, context: Context) -> Option<CachePc> {
    let id = vm.cache.directory.dormant(pc, context)?;
    let fresh = &vm.cache.directory.fragments[id as usize];
    let (image, len) = (fresh.image, u64::from(fresh.code.source_len));
    let region = crate::image_region(vm, pc).filter(|r| r.image == image)?;
    let inside = pc.0 + len <= region.end && vm.rseq.near(pc).is_empty();
    if !inside || !guarded(vm, &region, pc, len, context) {
        return None;
    }
    let fresh = &vm.cache.directory.fragments[id as usize];
    let mut now = alloc::vec![0; len as usize];
    let same =
        read(pc, &mut now) == now.len() && ppin_persist::source_hash(&now) == fresh.source_hash;
    let entry = CachePc(fresh.space.hot);
    if same {
        vm.cache.directory.wake(id);
    }
    same.then_some(entry)
}

/// Sees to it that changes of the source are noticed, before it is read; `false` if code
/// with these assumptions does not do.
fn guarded(vm: &mut Vm, region: &Region, pc: AppPc, len: u64, context: Context) -> bool {
    if context.contains(Context::VOLATILE) {
        return true;
    }
    if region.writable {
        invalidate::watch(vm, region, pc.0, len);
    }
    !vm.guards.is_volatile(pc.0) && vm.guards.steady(pc.0, len) == len
}

/// Reads code at `pc` as far as it is there; how many bytes.
fn read(pc: AppPc, buffer: &mut [u8]) -> usize {
    let len = served::readable(pc.0, buffer.len());
    peek::read(pc.0, &mut buffer[..len])
}

/// App bytes from `pc` on, and why they end.
fn fetch(region: Option<Region>, pc: AppPc, buffer: &mut [u8]) -> (usize, BytesEnd) {
    let Some(region) = region else {
        return (0, BytesEnd::Unreadable);
    };
    let room = (region.end - pc.0).min(buffer.len() as u64) as usize;
    let len = read(pc, &mut buffer[..room]);
    (
        len,
        if len < room {
            BytesEnd::Unreadable
        } else {
            BytesEnd::Limit
        },
    )
}

/// The image of a region; code outside every region (about to fault) is given an
/// image of its own page.
fn image_of(vm: &mut Vm, region: Option<Region>, pc: AppPc) -> (ImageId, ImageBase) {
    let image = region.map_or_else(|| vm.images.nowhere(pc), |r| r.image);
    (image, vm.images.get(image).base)
}

/// Gives `fragment` a place and makes it known.
pub fn install(
    vm: &mut Vm,
    image: ImageId,
    pc: AppPc,
    fragment: Fragment,
    source: &[u8],
    listed: bool,
) -> CachePc {
    let (chunk, space) = make_room(vm, image, &fragment);
    let info = vm.images.get(image);
    let place = Placement {
        hot: space.hot,
        cold: space.cold,
        slots: space.slots,
        image: info.base,
    };
    write(
        &mut vm.cache.chunks[chunk],
        &fragment,
        &place,
        info.counters,
    );
    vm.stats.code_bytes_new += (fragment.hot.len() + fragment.cold.len()) as u64;
    let volatile = fragment.context.contains(Context::VOLATILE);
    let fresh = Fresh {
        hot_len: fragment.hot.len() as u32,
        code: fragment,
        image,
        pc,
        space,
        source_hash: ppin_persist::source_hash(source),
        source: if volatile {
            source.into()
        } else {
            Box::default()
        },
        indirect: false,
        anticipated: false,
        dead: false,
        again: false,
        saved: false,
        listed,
    };
    let id = vm.cache.directory.add(fresh);
    let chunk = &mut vm.cache.chunks[chunk];
    chunk.hot_index.push((space.hot, id));
    chunk.cold_index.push((space.cold, id));
    CachePc(space.hot)
}

/// A chunk with room for `fragment`, within reach of its image; flushes when the
/// cache is full.
fn make_room(vm: &mut Vm, image: ImageId, fragment: &Fragment) -> (usize, Space) {
    if budget::wants_flush(vm) {
        crate::end::flush(vm);
    }
    let info = vm.images.get(image);
    let base = if info.has_surroundings() {
        info.base.0
    } else {
        0
    };
    let span = needs(fragment, info.base);
    for (n, chunk) in vm.cache.chunks.iter_mut().enumerate().rev() {
        if crate::cache::place::reaches(chunk.base, chunk.len, span.0, span.1)
            && let Some(space) = chunk.take(fragment)
        {
            return (n, space);
        }
    }
    let len = chunk_len(vm);
    if vm.cache.size() + len > vm.cache.limit && vm.cache.size() != 0 {
        crate::end::flush(vm);
        if !vm.cache.chunks.is_empty() {
            // What was laid in is in use from here on.
            return make_room(vm, image, fragment);
        }
    }
    add_chunk(vm, base, span, len, fragment).unwrap_or_else(|| {
        crate::end::flush(vm);
        make_room(vm, image, fragment)
    })
}

fn chunk_len(vm: &Vm) -> u64 {
    CHUNK.min(vm.cache.limit / 2).next_multiple_of(GRAIN)
}

/// App addresses that the fragment refers to; `(0, 0)`: none, it may lie anywhere.
fn needs(fragment: &Fragment, base: ImageBase) -> (u64, u64) {
    let targets = fragment.relocs.iter().filter_map(|r| match r.kind {
        RelocKind::App(off) => Some(off.at(base).0),
        _ => None,
    });
    targets.fold((0, 0), |(low, high), at| {
        if high == 0 {
            (at, at + 1)
        } else {
            (low.min(at), high.max(at + 1))
        }
    })
}

/// `None`: no memory can be had, but some has been laid in for after a flush.
fn add_chunk(
    vm: &mut Vm,
    base: u64,
    span: (u64, u64),
    len: u64,
    fragment: &Fragment,
) -> Option<(usize, Space)> {
    let need =
        4 * (fragment.hot.len() + fragment.cold.len()) as u64 + 64 * fragment.slots.len() as u64;
    let len = len.max(need).next_multiple_of(GRAIN);
    let salt = if vm.config.flags & flag::SHUFFLE != 0 {
        time::monotonic_ns() & 0x3fff_f000
    } else {
        0
    };
    let views = if vm.quiet {
        Views::private_at
    } else {
        Views::at
    };
    match Chunk::near(base, span, len, salt, views) {
        Ok(chunk) => vm.cache.chunks.push(chunk),
        Err(_) if !vm.cache.spare.is_empty() => return None,
        Err(_) if budget::is_limited() => report::give_up(format_args!(
            "the limit of address space (ulimit -v) leaves no room for translated code"
        )),
        Err(e) => report::give_up(format_args!(
            "no place for translated code within 2 GiB of {base:#x} ({e})"
        )),
    }
    let n = vm.cache.chunks.len() - 1;
    let space = vm.cache.chunks[n]
        .take(fragment)
        .expect("a new chunk holds a fragment four times over");
    Some((n, space))
}

/// Lays in room for when the app's filters are in force, and makes all code writable in
/// place. `for_good`: nothing can be mapped then.
pub fn lay_in(vm: &mut Vm, for_good: bool) {
    let len = (4 * CHUNK).min((vm.cache.limit / 2).max(CHUNK));
    lay_in_pieces(vm, len, Views::private_at, for_good);
    for chunk in &mut vm.cache.chunks {
        chunk.prepare_for_silence();
    }
}

/// Lays in memory for when the app has used up what its limits allow.
pub fn prepare_for_want(vm: &mut Vm) {
    reserve::fill_under_limit();
    spare::keep();
    if !vm.cache.recycles {
        lay_in_pieces(vm, chunk_len(vm), Views::at, true);
    }
}

/// Maps room for new code near every image. `for_good`: as much again, so that a full
/// cache can be flushed into it.
fn lay_in_pieces(vm: &mut Vm, len: u64, views: MakeViews, for_good: bool) {
    let places: alloc::vec::Vec<_> = vm
        .images
        .all
        .iter()
        .filter(|i| !i.gone)
        .map(|i| (i.base.0, i.span))
        .collect();
    let before = vm.cache.chunks.len();
    for (base, span) in places {
        let reached = |c: &Chunk| crate::cache::place::reaches(c.base, c.len, span.0, span.1);
        if vm.cache.chunks[before..].iter().any(reached) {
            continue;
        }
        let room = |len| Chunk::near(base, span, len, 0, views);
        let first = room(len).or_else(|_| room(CHUNK));
        vm.cache.chunks.extend(first);
        if for_good {
            vm.cache.spare.extend(room(len).or_else(|_| room(CHUNK)));
            vm.cache.recycles = true;
        }
    }
}

/// Writes the fragment's sections at `place` with relocations applied.
fn write(chunk: &mut Chunk, fragment: &Fragment, place: &Placement, counters: u64) {
    let (to_hot, to_cold) = (chunk.writable(place.hot), chunk.writable(place.cold));
    // SAFETY: the arena has just handed out this room, and nobody knows it yet.
    let (hot, cold, slots) = unsafe {
        (
            core::slice::from_raw_parts_mut(to_hot as *mut u8, fragment.hot.len()),
            core::slice::from_raw_parts_mut(to_cold as *mut u8, fragment.cold.len()),
            core::slice::from_raw_parts_mut(place.slots as *mut u64, fragment.slots.len()),
        )
    };
    hot.copy_from_slice(&fragment.hot);
    cold.copy_from_slice(&fragment.cold);
    if let Err(e) = ppin_relocator::apply(fragment, place, hot, cold) {
        report::give_up(format_args!(
            "{:?} is out of reach of its translation",
            e.reloc.kind
        ));
    }
    for (slot, init) in slots.iter_mut().zip(&fragment.slots) {
        *slot = match init {
            SlotInit::App(off) => off.at(place.image).0,
            SlotInit::Cold(off) => place.cold + u64::from(*off),
            SlotInit::ImageCounters => counters,
        };
    }
}

/// Whether the app bytes of a volatile fragment are still those it was made from.
#[must_use]
pub fn unchanged(fresh: &Fresh) -> bool {
    let mut now = alloc::vec![0; fresh.source.len()];
    read(fresh.pc, &mut now) == now.len() && *now == *fresh.source
}

/// Takes a fragment out of the directory, the links and the indirect table.
pub fn discard(vm: &mut Vm, id: u32) {
    let fresh = &vm.cache.directory.fragments[id as usize];
    let (pc, hot) = (fresh.pc.0, fresh.space.hot);
    vm.cache.unlink(hot);
    vm.ibl.remove_one(pc, hot);
    vm.cache.directory.kill(id);
    for landing in vm.rseq.discarded(hot) {
        if let Some(id) = vm.fresh_at(landing) {
            discard(vm, id);
        }
    }
}

impl Vm {
    /// Whether `entry` is code that only says that its source cannot be translated.
    #[must_use]
    pub fn tells_only_of_trap(&self, entry: CachePc) -> bool {
        self.fresh_at(entry.0)
            .is_some_and(|id| !self.cache.directory.fragments[id as usize].listed)
    }
}

impl Fresh {
    /// Its maps, if `addr` is in its hot code.
    #[must_use]
    pub fn maps(&self, addr: u64, image: &Image) -> Option<Maps> {
        (addr.wrapping_sub(self.space.hot) < u64::from(self.hot_len)).then(|| Maps {
            head: self.pc,
            context: self.code.context,
            hot: self.space.hot,
            rows: self.code.pc_map.clone(),
            counts: self.code.counts.clone(),
            counters: image.counters,
        })
    }
}
