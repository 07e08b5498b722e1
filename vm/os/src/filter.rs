//! Which calls the VM may make for itself.
//!
//! Every call of the VM's own passes by [`verdict`] (see [`crate::call::raw`]); what the
//! app's filters would not let through is not made, and fails for the VM alone. Calls
//! made for the app go straight to the kernel: their verdict is the app's.
//!
//! What confines a thread hangs on it. As long as all threads are confined alike, one
//! place holds it for all; else the thread is found by gs, and where that is not ours
//! (the app has it for an instruction), what any thread forbids is forbidden.

use crate::errno::Errno;
use crate::{c, copy, fsgs, regions};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use ppin_abi::area::Area;
use ppin_seccomp::{ARCH_X86_64, Action, Call, Confinement};

/// The address of what confines a thread; 0: nothing. What lies there is never freed, so that
/// others may read it while the address is replaced; there are few.
pub type Shared = AtomicU64;

/// Some thread is confined.
static ANY: AtomicBool = AtomicBool::new(false);
/// Not all of them alike.
static MIXED: AtomicBool = AtomicBool::new(false);
/// Some thread cannot wake others: then nobody may go to sleep.
static NOBODY_WAKES: AtomicBool = AtomicBool::new(false);
/// What any of them forbids.
static ALL: Shared = AtomicU64::new(0);
/// The instruction pointer that filters see with a call.
static CALLER: AtomicU64 = AtomicU64::new(0);

/// From now on `ip` is the instruction pointer that filters see with a call of the runtime.
pub fn calls_come_from(ip: u64) {
    CALLER.store(ip, Ordering::Relaxed);
}

/// Makes `confinement` live for ever; its address.
#[must_use]
pub fn share(confinement: Confinement) -> u64 {
    Box::into_raw(Box::new(confinement)) as u64
}

fn read(shared: &Shared) -> Option<&'static Confinement> {
    let at = shared.load(Ordering::Acquire) as *const Confinement;
    // SAFETY: null or made by `share`, and never freed or changed.
    unsafe { at.as_ref() }
}

/// What confines the thread whose area it is.
#[must_use]
pub fn of(thread: &Area) -> Option<&'static Confinement> {
    read(&thread.filters)
}

/// For a child of `parent`.
#[must_use]
pub fn inherited(parent: &Area) -> Shared {
    AtomicU64::new(parent.filters.load(Ordering::Acquire))
}

/// The threads are these, or are confined anew. `true`: from here on nobody may be able to wake
/// others, so whoever sleeps must be woken now.
#[must_use]
pub fn learn<'a>(threads: impl Iterator<Item = &'a Area> + Clone) -> bool {
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

/// Whether `confinement` lets the call pass.
#[must_use]
pub fn may(confinement: &Confinement, nr: u32, args: &[usize; 6]) -> bool {
    confinement.verdict(&call(nr, args)) == Action::Allow
}

/// Whether sleepers must not count on being woken.
#[must_use]
pub fn nobody_wakes() -> bool {
    NOBODY_WAKES.load(Ordering::Acquire)
}

/// What any thread forbids.
#[must_use]
pub fn all() -> Option<&'static Confinement> {
    read(&ALL)
}

/// Whether any thread is confined.
#[must_use]
pub fn any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// What the app's filters would make of a call.
#[must_use]
pub fn verdict(nr: u32, args: &[usize; 6]) -> Action {
    if any() {
        judge(nr, args)
    } else {
        Action::Allow
    }
}

/// The same for a call that does not depend on its arguments.
#[must_use]
pub fn allows(nr: u32) -> bool {
    verdict(nr, &[0; 6]) == Action::Allow
}

#[cold]
fn judge(nr: u32, args: &[usize; 6]) -> Action {
    let mine = if MIXED.load(Ordering::Relaxed) {
        this_thread().map_or_else(|| read(&ALL), of)
    } else {
        read(&ALL)
    };
    mine.map_or(Action::Allow, |it| it.verdict(&call(nr, args)))
}

/// A call of the runtime as filters see it.
#[must_use]
pub fn call(nr: u32, args: &[usize; 6]) -> Call {
    Call {
        nr,
        arch: ARCH_X86_64,
        ip: CALLER.load(Ordering::Relaxed),
        args: args.map(|arg| arg as u64),
    }
}

/// The error that a call is said to have failed with instead of being made.
#[must_use]
pub fn error(refused: Action) -> Errno {
    match refused {
        Action::Error(number) => Errno(i32::from(number)),
        _ => Errno::ENOSYS,
    }
}

/// The running thread's area, if gs is ours: it begins with its own address.
fn this_thread() -> Option<&'static Area> {
    let base = fsgs::quick_gs_base()?;
    let ours = regions::is_private(base) && copy::word(base) == Some(base);
    // SAFETY: a thread's area, in memory that nobody but the VM has; it is running.
    ours.then(|| unsafe { &*(base as *const Area) })
}
