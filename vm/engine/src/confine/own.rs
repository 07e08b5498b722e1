//! Which calls the VM may make for itself.
//!
//! Every call of the VM's own passes by [`verdict`] (see [`crate::sys::raw`]); what the
//! app's filters would not let through is not made, and fails for the VM alone. Calls
//! made for the app go straight to the kernel: their verdict is the app's.
//!
//! What confines a thread hangs on it. As long as all threads are confined alike, one
//! place holds it for all; else the thread is found by gs, and where that is not ours
//! (the app has it for an instruction), what any thread forbids is forbidden.

use crate::cache::place;
use crate::sys::{Errno, c, peek, proc};
use crate::thread::Thread;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use ppin_seccomp::{ARCH_X86_64, Action, Call, Confinement};

/// What confines a thread; null: nothing. Never freed, so that others may read it while
/// it is replaced; there are few.
pub type Shared = AtomicPtr<Confinement>;

/// Some thread is confined.
static ANY: AtomicBool = AtomicBool::new(false);
/// Not all of them alike.
static MIXED: AtomicBool = AtomicBool::new(false);
/// Some thread cannot wake others: then nobody may go to sleep.
static NOBODY_WAKES: AtomicBool = AtomicBool::new(false);
/// What any of them forbids.
static ALL: Shared = AtomicPtr::new(core::ptr::null_mut());

/// Makes `confinement` live for ever.
#[must_use]
pub fn share(confinement: Confinement) -> *mut Confinement {
    Box::into_raw(Box::new(confinement))
}

fn read(shared: &Shared) -> Option<&'static Confinement> {
    // SAFETY: null or made by `share`, and never freed or changed.
    unsafe { shared.load(Ordering::Acquire).as_ref() }
}

/// What confines `thread`.
#[must_use]
pub fn of(thread: &Thread) -> Option<&'static Confinement> {
    read(&thread.confined)
}

/// For a child of `parent`.
#[must_use]
pub fn inherited(parent: &Thread) -> Shared {
    AtomicPtr::new(parent.confined.load(Ordering::Acquire))
}

/// The threads are these, or are confined anew.
pub fn learn(threads: &[*mut Thread]) {
    // SAFETY: the list holds live threads, and the VM lock is held.
    let all = || threads.iter().map(|thread| unsafe { &(**thread).confined });
    let ptr = |shared: &Shared| shared.load(Ordering::Acquire);
    let first = all().next().map_or(core::ptr::null_mut(), ptr);
    let alike = all().all(|one| ptr(one) == first);
    let union = if alike {
        first
    } else {
        let both = |sum: Confinement, one| sum.and(one);
        share(all().filter_map(read).fold(Confinement::default(), both))
    };
    ALL.store(union, Ordering::Release);
    MIXED.store(!alike, Ordering::Release);
    ANY.store(!union.is_null(), Ordering::Release);
    let wake = [
        0,
        c::FUTEX_WAKE as usize | c::FUTEX_PRIVATE_FLAG as usize,
        1,
        0,
        0,
        0,
    ];
    let wakes = read(&ALL).is_none_or(|all| super::may(all, c::__NR_futex, &wake));
    if !NOBODY_WAKES.swap(!wakes, Ordering::AcqRel) && !wakes {
        // The last opportunity.
        crate::vm::wake_all();
    }
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
        ip: crate::glue::cross(crate::glue::syscall::gate_done),
        args: args.map(|arg| arg as u64),
    }
}

/// The error that a call is said to have failed with instead of being made.
#[must_use]
pub fn error(refused: Action) -> Errno {
    const ENOSYS: i32 = 38;
    match refused {
        Action::Error(number) => Errno(i32::from(number)),
        _ => Errno(ENOSYS),
    }
}

/// The running thread, if gs is ours: its area begins with its own address.
fn this_thread() -> Option<&'static Thread> {
    let base = proc::quick_gs_base()?;
    let ours = place::is_private(base) && peek::read_value::<u64>(base) == Some(base);
    // SAFETY: a thread's area, in memory that nobody but the VM has; it is running.
    ours.then(|| unsafe { &*(base as *const Thread) })
}
