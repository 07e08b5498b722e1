//! Which addresses are ours: what a program must not find in its list of mappings
//! ([`crate::listing`]), nor map anything over ([`crate::syscall`]).

use crate::cache::{Cache, arena::Chunk, place};
use crate::vm::{self, Vm};
use core::sync::atomic::{AtomicU64, Ordering};

/// Start and end.
pub type Range = (u64, u64);

/// Stretches of the heap that are known, a few for most programs; more would show.
const STRETCHES: usize = 64;
static HEAP: [[AtomicU64; 2]; STRETCHES] =
    [const { [AtomicU64::new(0), AtomicU64::new(0)] }; STRETCHES];

/// The heap has grown by `len` bytes at `start`. (It may not allocate here.)
pub fn heap_grows(start: u64, len: u64) {
    for [from, to] in &HEAP {
        let (first, end) = (from.load(Ordering::Relaxed), to.load(Ordering::Relaxed));
        if first == 0 {
            from.store(start, Ordering::Relaxed);
        }
        if first == 0 || end == start {
            return to.store(start + len, Ordering::Relaxed);
        }
    }
}

fn heap() -> impl Iterator<Item = Range> {
    let load =
        |[from, to]: &[AtomicU64; 2]| (from.load(Ordering::Relaxed), to.load(Ordering::Relaxed));
    HEAP.iter().map(load).take_while(|range| range.0 != 0)
}

fn chunks(cache: &Cache) -> impl Iterator<Item = &Chunk> {
    let retired = cache.retired.iter().flat_map(|it| it.chunks());
    cache.chunks.iter().chain(&cache.spare).chain(retired)
}

/// All of them, in no order.
pub fn all(vm: &Vm) -> impl Iterator<Item = Range> {
    let units = vm.images.all.iter().flat_map(|image| &image.units);
    [vm::runtime(), place::claimed()]
        .into_iter()
        .chain(heap())
        .chain(chunks(&vm.cache).map(|it| (it.base, it.base + it.len)))
        .chain(units.map(|it| it.range()))
}

/// Whether anything of ours lies in `start .. end`.
#[must_use]
pub fn overlap(vm: &Vm, start: u64, end: u64) -> bool {
    start < end && all(vm).any(|(first, last)| first < end && start < last)
}
