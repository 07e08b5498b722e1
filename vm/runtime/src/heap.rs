//! The runtime's heap: chunks of anonymous memory near the runtime itself, far
//! from where the kernel would put them, so that the app's layout stays its own.

use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use linux_raw_sys::general::{__NR_getrlimit, FUTEX_WAIT, FUTEX_WAKE, RLIMIT_AS, RLIMIT_DATA};
use lock_api::RawMutex;
use ppin_inject::sys::syscall;
use talc::TalcLock;
use talc::base::Talc;
use talc::base::binning::Binning;
use talc::source::Source;

#[global_allocator]
static HEAP: TalcLock<Futex, Grow> = TalcLock::new(Grow {
    heap: None,
    wish: false,
});

/// Address space taken at once, more than most runs ever need: later on the app may
/// have used up its share of mappings. Pages count when they are touched.
const FIRST: usize = 16 << 20;
/// Smallest chunk where that is not to be had (`ulimit -v`), and of growth.
const CHUNK: usize = 1 << 20;
/// Where the first chunk goes, seen from the runtime's image.
const DISTANCE: usize = 256 << 20;

/// Runs `fork` while no thread is inside the heap, so that the child inherits a
/// consistent one, unlocked on both sides.
#[cfg(feature = "engine")]
pub fn with_heap_at_rest<T>(fork: impl FnOnce() -> T) -> T {
    let guard = HEAP.lock();
    let result = fork();
    drop(guard);
    result
}

/// Whether `len` bytes can be had in one piece, within our share of what the limits allow.
#[cfg(feature = "engine")]
pub fn lasts(len: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(len.max(1), 16) else {
        return false;
    };
    let mut talc = HEAP.lock();
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

/// Maps more memory when the heap is full.
#[derive(Debug)]
struct Grow {
    /// End of the newest chunk's heap and of its mapping.
    heap: Option<(NonNull<u8>, usize)>,
    /// It could do without.
    wish: bool,
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
            None => first(size).ok_or(())?,
            Some(end) => (map(end, size, talc.source.wish).ok_or(())?, size),
        };
        let heap = match talc.source.heap {
            Some((heap, end)) if end == start => {
                // SAFETY: fresh memory right behind the heap, for good.
                unsafe { talc.extend(heap, (start + size) as *mut u8) }
            }
            // SAFETY: fresh memory, for good.
            _ => unsafe { talc.claim(start as *mut u8, size) }.ok_or(())?,
        };
        talc.source.heap = Some((heap, start + size));
        Ok(())
    }
}

/// The first chunk. Where address space is limited, the app needs it more.
fn first(size: usize) -> Option<(usize, usize)> {
    let size = if limited() { size } else { size.max(FIRST) };
    let chunk = map(first_place(), size, false).map(|start| (start, size));
    chunk.or_else(|| map(first_place(), CHUNK, false).map(|start| (start, CHUNK)))
}

fn limited() -> bool {
    [RLIMIT_AS, RLIMIT_DATA].into_iter().any(|resource| {
        let mut limit = [u64::MAX; 2];
        let args = [resource as usize, limit.as_mut_ptr() as usize, 0, 0, 0, 0];
        // SAFETY: asks for a `struct rlimit`.
        unsafe { syscall(__NR_getrlimit, args) };
        limit[0] != u64::MAX
    })
}

fn first_place() -> usize {
    let here = first_place as fn() -> usize as usize;
    (here & !(CHUNK - 1)) + DISTANCE
}

/// From the kernel, if the app has not forbidden itself to ask.
#[cfg(feature = "engine")]
use ppin_engine::confine::reserve::for_heap as map;

#[cfg(not(feature = "engine"))]
fn map(hint: usize, size: usize, _: bool) -> Option<usize> {
    use linux_raw_sys::general::{__NR_mmap, MAP_ANONYMOUS, MAP_NORESERVE, MAP_PRIVATE};
    use linux_raw_sys::general::{PROT_READ, PROT_WRITE};
    let protection = (PROT_READ | PROT_WRITE) as usize;
    let flags = (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE) as usize;
    // SAFETY: a new mapping at a place that is free (a taken hint is not used).
    let mapped = unsafe { syscall(__NR_mmap, [hint, size, protection, flags, usize::MAX, 0]) };
    ppin_inject::sys::check(mapped).ok()
}

/// A sleeping lock: 0 free, 1 taken, 2 taken and somebody sleeps.
struct Futex(AtomicU32);

// SAFETY: the classic three-state futex lock; `lock` returns to one thread at a time.
unsafe impl RawMutex for Futex {
    // The trait wants a fresh, unlocked value, which is what a constant gives.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self(AtomicU32::new(0));
    type GuardMarker = lock_api::GuardSend;

    fn lock(&self) {
        if self.try_lock() {
            return;
        }
        while self.0.swap(2, Ordering::Acquire) != 0 {
            self.futex(FUTEX_WAIT, 2);
        }
    }

    fn try_lock(&self) -> bool {
        self.0
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    unsafe fn unlock(&self) {
        if self.0.swap(0, Ordering::Release) == 2 {
            self.futex(FUTEX_WAKE, 1);
        }
    }
}

impl Futex {
    #[cfg(feature = "engine")]
    fn futex(&self, operation: u32, value: u32) {
        ppin_engine::sys::proc::futex(&self.0, operation, value);
    }

    #[cfg(not(feature = "engine"))]
    fn futex(&self, operation: u32, value: u32) {
        use linux_raw_sys::general::{__NR_futex, FUTEX_PRIVATE_FLAG};
        let operation = (operation | FUTEX_PRIVATE_FLAG) as usize;
        // SAFETY: the word is alive.
        unsafe {
            ppin_inject::sys::syscall(
                __NR_futex,
                [self.0.as_ptr() as usize, operation, value as usize, 0, 0, 0],
            )
        };
    }
}
