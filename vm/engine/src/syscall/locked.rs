//! Memory that the app keeps resident as a whole (mlockall(2)).
//!
//! The app means its own memory, and may keep as much as `RLIMIT_MEMLOCK` allows; the kernel
//! would count ours, too, and refuse. So each mapping of the app's is locked for itself, and
//! what is mapped later on as it is mapped.

use super::outcome::{self, pass};
use super::pages::{self, Pages};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use ppin_os::maps::{self, MapEntry};
use ppin_os::{Errno, c, filter, mem, proc, raw};
use ppin_process::ours::{self, Range};
use ppin_process::thread::Thread;
use ppin_process::vm;

/// `MCL_FUTURE` and perhaps `MCL_ONFAULT`, of the last call; 0: what comes is not locked.
static FUTURE: AtomicU32 = AtomicU32::new(0);

/// `mlockall` and `munlockall`.
pub(crate) fn handle(thread: &Thread, nr: u32, args: &[usize; 6]) -> isize {
    let flags = args[0] as u32;
    // (A filter may not allow what we would do instead.)
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
    // SAFETY: locks nothing; says whether this process may.
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
        // What cannot be locked or brought in is left out, as the kernel does.
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

/// Whether the limit allows for all of them, or does not hold for this process.
fn fits(mappings: &[Range]) -> bool {
    let limit = proc::limit(c::RLIMIT_MEMLOCK);
    let total: u64 = mappings.iter().map(|(start, end)| end - start).sum();
    total <= limit || may_exceed(limit)
}

/// Asks for more than is allowed, of which nothing is brought in.
fn may_exceed(limit: u64) -> bool {
    let len = mem::page_up(limit.saturating_add(mem::PAGE)) as usize;
    let flags = c::MAP_PRIVATE | c::MAP_ANONYMOUS | c::MAP_NORESERVE | c::MAP_LOCKED;
    let args = [0, len, c::PROT_NONE as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a new mapping, which nobody knows.
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

/// mmap(2), with what the app has asked for all that comes.
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

/// brk(2).
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

/// The app has attached shared memory at `start`.
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

/// This process is a forked child, which has locked nothing yet.
pub(crate) fn forked() {
    FUTURE.store(0, Ordering::Relaxed);
}

/// The app goes on without us: the kernel does it for us.
pub(crate) fn hand_over() {
    let future = FUTURE.load(Ordering::Relaxed);
    if future != 0 {
        // SAFETY: changes no memory.
        unsafe { raw(c::__NR_mlockall, [future as usize, 0, 0, 0, 0, 0]) };
    }
}
