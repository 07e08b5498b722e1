//! The app's seccomp filters: which of them confine which thread.
//!
//! Every call that the VM makes for itself is judged by them first ([`crate::kernel::Kernel`]). A
//! call that they would refuse is not made; it fails, and only the VM notices. Calls made for the
//! app go straight to the kernel: the filter's verdict on them is the app's business.
//!
//! Each thread's area points at the filters that confine the thread. While all threads are confined
//! alike, one static holds their common filters. Otherwise the thread is found by its gs base.
//! While gs holds the app's base (for the length of one app instruction), the thread is unknown,
//! and a call that any thread's filters forbid is forbidden.

use crate::{c, copy, fsgs, regions};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use ppin_abi::area::Area;
use ppin_abi::thread::BEFORE;
use ppin_seccomp::{ARCH_X86_64, Action, Call, Confinement};

/// Address of the [`Confinement`] of a thread; 0: the thread is not confined. A `Confinement` is
/// never freed, so that other threads may read it while the address is replaced. Few are ever made.
pub type Shared = AtomicU64;

/// Whether any thread is confined.
static ANY: AtomicBool = AtomicBool::new(false);
/// Whether the threads are confined differently.
static MIXED: AtomicBool = AtomicBool::new(false);
/// Whether the filters of some thread forbid to wake others (futex(2)): then no thread may sleep.
static NOBODY_WAKES: AtomicBool = AtomicBool::new(false);
/// All threads' filters together: they forbid what the filters of any thread forbid.
static ALL: Shared = AtomicU64::new(0);
/// The instruction pointer that filters see with a call.
static CALLER: AtomicU64 = AtomicU64::new(0);

/// Sets the instruction pointer that filters see with a call of the runtime.
pub fn calls_come_from(ip: u64) {
    CALLER.store(ip, Ordering::Relaxed);
}

/// Moves `confinement` to memory that is never freed; returns its address.
#[must_use]
pub fn share(confinement: Confinement) -> u64 {
    Box::into_raw(Box::new(confinement)) as u64
}

fn read(shared: &Shared) -> Option<&'static Confinement> {
    let at = shared.load(Ordering::Acquire) as *const Confinement;
    // SAFETY: null or made by `share`, and never freed or changed.
    unsafe { at.as_ref() }
}

/// The filters that confine `thread`.
#[must_use]
pub fn of(thread: &Area) -> Option<&'static Confinement> {
    read(&thread.filters)
}

/// The filters that a child of `parent` starts with.
#[must_use]
pub fn inherited(parent: &Area) -> Shared {
    AtomicU64::new(parent.filters.load(Ordering::Acquire))
}

/// Recomputes the common filters of `threads`, after a thread was added or a filter installed.
/// Returns `true` if from now on threads may be unable to wake each other: the caller must wake all
/// sleepers now.
#[must_use]
pub fn update<'a>(threads: impl Iterator<Item = &'a Area> + Clone) -> bool {
    let address = |thread: &Area| thread.filters.load(Ordering::Acquire);
    let first = threads.clone().next().map_or(0, address);
    let alike = threads.clone().all(|one| address(one) == first);
    let union = if alike {
        first
    } else {
        let both = |sum: Confinement, one| sum.and(one);
        share(threads.filter_map(of).fold(Confinement::default(), both))
    };
    ALL.store(union, Ordering::Release);
    MIXED.store(!alike, Ordering::Release);
    ANY.store(union != 0, Ordering::Release);
    let operation = c::FUTEX_WAKE as usize | c::FUTEX_PRIVATE_FLAG as usize;
    let wakes = all().is_none_or(|all| may(all, c::__NR_futex, &[0, operation, 1, 0, 0, 0]));
    !NOBODY_WAKES.swap(!wakes, Ordering::AcqRel) && !wakes
}

/// Whether `confinement` allows the call.
#[must_use]
pub fn may(confinement: &Confinement, nr: u32, args: &[usize; 6]) -> bool {
    confinement.verdict(&call(nr, args)) == Action::Allow
}

/// Whether threads may be unable to wake others, so that none may sleep.
#[must_use]
pub fn nobody_wakes() -> bool {
    NOBODY_WAKES.load(Ordering::Acquire)
}

/// All threads' filters together (they forbid what those of any thread forbid).
#[must_use]
pub fn all() -> Option<&'static Confinement> {
    read(&ALL)
}

/// Whether any thread is confined.
#[must_use]
pub fn any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// The filters that judge the calls of the running thread.
pub(crate) fn of_this_thread() -> Option<&'static Confinement> {
    if any() { find_own() } else { None }
}

#[cold]
fn find_own() -> Option<&'static Confinement> {
    if MIXED.load(Ordering::Relaxed) {
        this_thread().map_or_else(|| read(&ALL), of)
    } else {
        read(&ALL)
    }
}

/// A call of the runtime, as the data that filters judge.
#[must_use]
pub fn call(nr: u32, args: &[usize; 6]) -> Call {
    Call {
        nr,
        arch: ARCH_X86_64,
        ip: CALLER.load(Ordering::Relaxed),
        args: args.map(|arg| arg as u64),
    }
}

/// The running thread's area, if gs points at it. An area begins with its own address, by which it
/// is recognised.
fn this_thread() -> Option<&'static Area> {
    let base = fsgs::quick_gs_base()?;
    let thread = base.wrapping_sub(BEFORE.into());
    let ours = regions::is_private(thread) && copy::word(base) == Some(base);
    // SAFETY: the area of the running thread, in memory that only the VM uses.
    ours.then(|| unsafe { &*(base as *const Area) })
}
