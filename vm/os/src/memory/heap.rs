//! The runtime's heap: chunks of anonymous memory near the runtime's image. The kernel never
//! chooses their addresses, so the app's own layout is as it would be natively.

use super::ahead;
use super::pools::{Pools, has_size, rounded};
use crate::lock::Word;
use crate::page::page_up;
use crate::{budget, c, mem, proc, reserve, stretches, time};
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use lock_api::{MutexGuard, RawMutex};
use talc::TalcLock;
use talc::base::Talc;
use talc::base::binning::{Binning, DefaultBinning};
use talc::source::Source;

static HEAP: TalcLock<Lock, Grow> = TalcLock::new(Grow::NEW);

/// The holder of the heap's lock does not change the heap (a fork is under way).
static HELD_UNCHANGED: AtomicBool = AtomicBool::new(false);
/// The lock's holder died in the middle of an update: the heap, or data on it, may be inconsistent.
static INCONSISTENT: AtomicBool = AtomicBool::new(false);

/// Size of the first chunk, more than most runs ever need: later on the app may have used up its
/// share of mappings. Pages that are not touched cost nothing.
const FIRST: usize = 16 << 20;
/// Smallest first chunk (under `ulimit -v`), and the unit of growth.
const CHUNK: usize = 1 << 20;
/// Distance of the first chunk from the runtime's data: more than the boot block takes. Close to each
/// other, both are mapped by one page of the page tables.
const DISTANCE: usize = 128 << 10;

/// Runs `fork` while this thread holds the heap's lock, so that the child inherits a consistent
/// heap, unlocked in parent and child. `fork` gets the lock's word, to lend it.
pub fn with_heap_locked<T>(fork: impl FnOnce(&Word) -> T) -> T {
    let guard = lock();
    // SAFETY: the word is only lent; the guard unlocks it.
    let word = &unsafe { MutexGuard::mutex(&guard).raw() }.0;
    HELD_UNCHANGED.store(true, Ordering::Relaxed);
    let result = fork(word);
    HELD_UNCHANGED.store(false, Ordering::Relaxed);
    drop(guard);
    result
}

/// Whether `len` bytes can be allocated in one piece, within the runtime's share of the memory
/// limits.
pub fn lasts(len: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(len.max(1), 16) else {
        return false;
    };
    let mut talc = lock();
    talc.source.wish = true;
    // SAFETY: the size is not zero.
    let piece = unsafe { talc.allocate(layout) };
    talc.source.wish = false;
    if let Some(piece) = piece {
        // SAFETY: allocated just now, and used by nobody.
        unsafe { talc.deallocate(piece.as_ptr(), layout) };
    }
    piece.is_some()
}

/// Start and end of each piece of memory that the heap has or had.
pub fn ranges() -> impl Iterator<Item = (u64, u64)> {
    stretches::all()
}

/// Whether the heap cannot be used, because its lock stays taken: for a crash, which may have come in
/// the middle of an allocation by this thread.
pub fn is_stuck() -> bool {
    const TRIES: u32 = 100;
    time::tried(TRIES, || HEAP.try_lock()).is_none()
}

/// Marks the heap as inconsistent: at the next allocation it is abandoned, and a new one begins.
pub fn abandon() {
    INCONSISTENT.store(true, Ordering::Relaxed);
}

/// The heap, locked; a new one if the old one was left inconsistent.
fn lock() -> MutexGuard<'static, Lock, Talc<Grow, DefaultBinning>> {
    let mut talc = HEAP.lock();
    // (The lock is held: nobody else clears it.)
    if INCONSISTENT.load(Ordering::Relaxed) {
        INCONSISTENT.store(false, Ordering::Relaxed);
        stretches::abandon();
        // SAFETY: the old value is inconsistent, and owns nothing but abandoned memory.
        unsafe { (&raw mut *talc).write(Talc::new(Grow::NEW)) };
    }
    talc
}

/// The allocator that Rust calls.
#[derive(Debug)]
pub struct Heap;

// SAFETY: the allocator behind it is used by one thread at a time; blocks of an abandoned heap stay
// valid.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let layout = rounded(layout);
        let mut talc = lock();
        if let Some(block) = talc.source.pools.take(layout) {
            return block.as_ptr();
        }
        // SAFETY: the caller's promise.
        let Some(block) = (unsafe { talc.allocate(layout) }) else {
            return core::ptr::null_mut();
        };
        let block = block.as_ptr();
        if ahead::used(block as usize + layout.size(), talc.source.end()) {
            talc.source.pools.keep_large();
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let layout = rounded(layout);
        let mut talc = lock();
        // SAFETY: the caller's promise, and the block is of this heap.
        unsafe {
            if !stretches::is_abandoned(block as usize) && !talc.source.pools.keep(block, layout) {
                talc.deallocate(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise: the size is valid with this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let stays = match (has_size(layout), has_size(wanted)) {
            (true, true) => rounded(layout) == rounded(wanted),
            // SAFETY: the caller's promise.
            (false, false) => unsafe { resized(block, layout, size) },
            _ => false,
        };
        if stays {
            return block;
        }
        // SAFETY: the caller's promises: the size is not zero; both blocks hold what is copied.
        unsafe {
            let new = self.alloc(wanted);
            if !new.is_null() {
                core::ptr::copy_nonoverlapping(block, new, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Whether a block that has none of the pools' sizes could be given its new size where it lies.
///
/// # Safety
/// As for `GlobalAlloc::realloc`.
unsafe fn resized(block: *mut u8, layout: Layout, size: usize) -> bool {
    let mut talc = lock();
    let ours = !stretches::is_abandoned(block as usize);
    // SAFETY: the caller's promise, and the block is of this heap.
    ours && unsafe { talc.try_realloc_in_place(block, layout, size) }
}

/// Source of memory that maps more when the heap is full.
#[derive(Debug)]
struct Grow {
    /// End of the newest chunk's heap, and the end of what it was given.
    heap: Option<(NonNull<u8>, usize)>,
    /// Bytes of the first chunk behind `heap`. The heap gets them piece by piece, since it writes to
    /// the end of each.
    room: usize,
    /// The allocation at hand could be avoided, so it stays within the runtime's share.
    wish: bool,
    /// Blocks that have been freed.
    pools: Pools,
}

impl Grow {
    const NEW: Self = Self {
        heap: None,
        room: 0,
        wish: false,
        pools: Pools::EMPTY,
    };

    /// End of the newest chunk.
    fn end(&self) -> usize {
        self.heap.map_or(0, |(_, end)| end)
    }

    /// Takes `size` bytes of the first chunk, or those that are left.
    fn of_room(&mut self, size: usize) -> usize {
        let size = size.min(self.room);
        self.room -= size;
        size
    }
}

// SAFETY: the pointer is an address of memory that the allocator owns.
unsafe impl Send for Grow {}

// SAFETY: neither allocates nor touches the allocator's lock.
unsafe impl Source for Grow {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let wanted = layout.size() + layout.align() + 4096;
        let size = wanted.next_multiple_of(CHUNK);
        let end = talc.source.heap.map(|(_, end)| end);
        let (start, size) = match end {
            None => {
                let (start, mapped) = first(size).ok_or(())?;
                stretches::note(start, start + mapped);
                talc.source.room = mapped;
                (start, talc.source.of_room(size))
            }
            Some(end) if talc.source.room > 0 => (end, talc.source.of_room(size)),
            Some(end) => {
                let start = map(end, size, talc.source.wish).ok_or(())?;
                stretches::note(start, start + size);
                (start, size)
            }
        };
        let heap = match talc.source.heap {
            Some((heap, end)) if end == start => {
                // SAFETY: fresh memory right behind the heap, for good.
                unsafe { talc.extend(heap, (start + size) as *mut u8) }
            }
            // SAFETY: fresh memory, for good.
            _ => unsafe { talc.claim(start as *mut u8, size) }.ok_or(())?,
        };
        if end.is_none() {
            ahead::begin(start);
        }
        talc.source.heap = Some((heap, start + size));
        Ok(())
    }
}

/// Maps the first chunk. Where address space is limited, the app needs it more, so the chunk is
/// small.
fn first(size: usize) -> Option<(usize, usize)> {
    let size = if limited() { size } else { size.max(FIRST) };
    let chunk = map(first_place(), size, false).map(|start| (start, size));
    chunk.or_else(|| map(first_place(), CHUNK, false).map(|start| (start, CHUNK)))
}

fn limited() -> bool {
    let limited = |resource| budget::allowed(resource, proc::limits(resource)) != u64::MAX;
    budget::LIMITS.into_iter().any(limited)
}

fn first_place() -> usize {
    page_up((&raw const _end) as u64) as usize + DISTANCE
}

unsafe extern "C" {
    /// The end of the image's data (defined by the linker).
    safe static _end: u8;
}

/// Memory for the heap, near `hint` if mmap(2) is allowed. `wish`: fails rather than exceed the
/// runtime's share, or take the last of the reserve.
fn map(hint: usize, len: usize, wish: bool) -> Option<usize> {
    if wish && !budget::heap_may_grow(len as u64) {
        return None;
    }
    let bytes = len as u64;
    if let Some(start) = map_heap(hint, len) {
        budget::heap_grows(bytes);
        return Some(start);
    }
    let rest = if wish {
        budget::last(reserve::laid_in())
    } else {
        0
    };
    reserve::take(bytes, rest).map(|at| at as usize).ok()
}

fn map_heap(hint: usize, len: usize) -> Option<usize> {
    // (Without `MAP_FIXED` the hint is ignored if taken.)
    let flags = c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE;
    let mapped = mem::map(hint as u64, len as u64, mem::RW, flags, -1, 0);
    mapped.ok().map(|start| start as usize)
}

/// The heap's lock. It is taken over when its holder's process is gone.
struct Lock(Word);

// SAFETY: `Word::lock` returns to one thread at a time.
unsafe impl RawMutex for Lock {
    // The trait wants a fresh, unlocked value, which is what a constant gives.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self(Word::new());
    type GuardMarker = lock_api::GuardSend;

    fn lock(&self) {
        if self.0.lock() && !HELD_UNCHANGED.swap(false, Ordering::Relaxed) {
            INCONSISTENT.store(true, Ordering::Relaxed);
        }
    }

    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    unsafe fn unlock(&self) {
        self.0.unlock();
    }
}
