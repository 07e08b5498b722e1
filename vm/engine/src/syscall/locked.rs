//! mlockall(2): all memory of the app is kept resident.
//!
//! The app means its own memory, and may lock as much as `RLIMIT_MEMLOCK` allows; the kernel would
//! also count the runtime's, and refuse. So each mapping of the app is locked by itself, and later
//! mappings are locked when they are made.

use super::outcome::{self, pass};
use super::pages::{self, Pages};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use ppin_os::maps::{self, MapEntry};
use ppin_os::{Errno, c, filter, mem, proc, raw};
use ppin_process::ours::{self, Range};
use ppin_process::thread::Thread;
use ppin_process::vm;

/// `MCL_FUTURE` and perhaps `MCL_ONFAULT` of the last call; 0: new mappings are not locked.
static FUTURE: AtomicU32 = AtomicU32::new(0);

/// `mlockall` and `munlockall`.
pub(crate) fn handle(thread: &Thread, nr: u32, args: &[usize; 6]) -> isize {
    let flags = args[0] as u32;
    // (A filter may forbid the calls made instead.)
    let to_the_kernel =
        filter::of(&thread.area).is_some() || nr == c::__NR_mlockall && !is_sound(flags);
    if to_the_kernel {
        return pass(nr, args);
    }
    if nr == c::__NR_mlockall {
        return lock_all(flags);
    }
    FUTURE.store(0, Ordering::Relaxed);
    pass(nr, args)
}

fn is_sound(flags: u32) -> bool {
    let known = c::MCL_CURRENT | c::MCL_FUTURE | c::MCL_ONFAULT;
    flags & !known == 0 && flags & !c::MCL_ONFAULT != 0
}

fn lock_all(flags: u32) -> isize {
    // SAFETY: locks nothing; only asks whether this process may lock memory.
    let allowed = unsafe { raw(c::__NR_mlock, [0; 6]) };
    if allowed != 0 {
        return allowed;
    }
    let current = flags & c::MCL_CURRENT != 0;
    let mappings = if current { of_the_app() } else { Vec::new() };
    if !fits(&mappings) {
        return Errno::ENOMEM.raw();
    }
    let future = flags & c::MCL_FUTURE != 0;
    let kept = if future { flags & !c::MCL_CURRENT } else { 0 };
    FUTURE.store(kept, Ordering::Relaxed);
    for range in mappings {
        // (Memory that cannot be locked or read in is skipped, as the kernel does.)
        lock(range, flags);
    }
    0
}

fn of_the_app() -> Vec<Range> {
    let vm = vm::lock();
    let ours: Vec<Range> = ours::all(&vm).collect();
    let is_ours = |at: u64| ours.iter().any(|(start, end)| (*start..*end).contains(&at));
    let all = maps::read().unwrap_or_default();
    let of_the_app = |map: &&MapEntry| !is_ours(map.start) && map.end <= pages::END;
    let ranges = all.iter().filter(of_the_app);
    ranges.map(|map| (map.start, map.end)).collect()
}

/// Whether the limit allows to lock all of `mappings`, or does not apply to this process.
fn fits(mappings: &[Range]) -> bool {
    let limit = proc::limit(c::RLIMIT_MEMLOCK);
    let total: u64 = mappings.iter().map(|(start, end)| end - start).sum();
    total <= limit || may_exceed(limit)
}

/// Tests whether this process may exceed the limit, by a locked mapping without access.
fn may_exceed(limit: u64) -> bool {
    let len = mem::page_up(limit.saturating_add(mem::PAGE)) as usize;
    let flags = c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE | c::MAP_LOCKED;
    let args = [0, len, c::PROT_NONE as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a new mapping, which no code uses.
    let at = unsafe { raw(c::__NR_mmap, args) };
    if at < 0 && at > -4096 {
        return false;
    }
    // SAFETY: the mapping just made.
    unsafe { raw(c::__NR_munmap, [at as usize, len, 0, 0, 0, 0]) };
    true
}

fn lock((start, end): Range, flags: u32) -> bool {
    let on_fault = if flags & c::MCL_ONFAULT != 0 {
        c::MLOCK_ONFAULT
    } else {
        0
    };
    let len = (end - start) as usize;
    let args = [start as usize, len, on_fault as usize, 0, 0, 0];
    // SAFETY: changes no memory.
    unsafe { raw(c::__NR_mlock2, args) == 0 }
}

/// Makes mmap(2), and locks the mapping if the app has asked for that.
pub(crate) fn map(args: &[usize; 6]) -> isize {
    let future = FUTURE.load(Ordering::Relaxed);
    if future == 0 {
        return pass(c::__NR_mmap, args);
    }
    if future & c::MCL_ONFAULT == 0 {
        let mut args = *args;
        args[3] |= c::MAP_LOCKED as usize;
        return pass(c::__NR_mmap, &args);
    }
    let result = pass(c::__NR_mmap, args);
    let made = Pages::new(result as usize, args[1]).filter(|_| outcome::ok(result));
    if made.is_some_and(|made| !lock(made.bounds(), future)) {
        pass(c::__NR_munmap, &[result as usize, args[1], 0, 0, 0, 0]);
        return Errno::EAGAIN.raw();
    }
    result
}

/// Makes brk(2), and locks new memory if the app has asked for that.
pub(crate) fn brk(args: &[usize; 6]) -> isize {
    let future = FUTURE.load(Ordering::Relaxed);
    if future == 0 {
        return pass(c::__NR_brk, args);
    }
    let before = pass(c::__NR_brk, &[0; 6]);
    let after = pass(c::__NR_brk, args);
    let [from, to] = [before, after].map(|at| mem::page_up(at as u64));
    if from < to && !lock((from, to), future) {
        return pass(c::__NR_brk, &[before as usize, 0, 0, 0, 0, 0]);
    }
    after
}

/// Locks the shared memory that the app has attached at `start`, if it has asked for that.
pub(crate) fn attached(start: u64) {
    let future = FUTURE.load(Ordering::Relaxed);
    if future == 0 {
        return;
    }
    let all = maps::read().unwrap_or_default();
    if let Some(map) = all.iter().find(|map| map.start == start) {
        lock((map.start, map.end), future);
    }
}

/// Forgets the app's request, in a forked child, which has locked nothing.
pub(crate) fn forked() {
    FUTURE.store(0, Ordering::Relaxed);
}

/// Passes the app's request to the kernel, because the app goes on natively.
pub(crate) fn hand_over() {
    let future = FUTURE.load(Ordering::Relaxed);
    if future != 0 {
        // SAFETY: changes no memory.
        unsafe { raw(c::__NR_mlockall, [future as usize, 0, 0, 0, 0, 0]) };
    }
}
