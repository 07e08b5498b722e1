//! Calls that change what is mapped: translations must follow.

use super::{Outcome, pass, resident};
use crate::cache::invalidate;
use crate::image::maps::MapEntry;
use crate::sys::descriptor::path_of;
use crate::sys::file::stat_fd;
use crate::sys::{c, mem, spare};
use crate::thread::Thread;
use crate::{holdings, leave, report, vm};
use alloc::string::String;

const EXEC: usize = c::PROT_EXEC as usize;
const WRITE: usize = c::PROT_WRITE as usize;

/// Why a process was left.
const IN_OUR_PLACE: &str = "it changed the memory where ppin lay";

/// Makes the call and brings translations up to date. One that is directed at addresses of
/// ours can be made only by a process that is left to itself.
pub fn handle(thread: &Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    let hit = |(start, end)| holdings::overlap(&vm::lock(), start, end);
    let Some((start, end)) = targets(nr, args).into_iter().flatten().find(|it| hit(*it)) else {
        return Outcome::Done(make(nr, args));
    };
    if leave::is_possible(thread) {
        return Outcome::Natively(IN_OUR_PLACE);
    }
    report::give_up(format_args!(
        "the program changes memory at {start:#x}-{end:#x}, where ppin lies; run it without ppin \
         (a process with one thread and no filter of system calls would have been left to itself)"
    ))
}

/// What the call takes away or replaces, whatever is there. Protection and moves end at the
/// first hole, and there is one before anything of ours.
fn targets(nr: u32, args: &[usize; 6]) -> [Option<(u64, u64)>; 2] {
    // (The other flag has precedence, and takes nothing away.)
    const EXACT: u32 = c::MAP_FIXED | c::MAP_FIXED_NOREPLACE;
    const END: u64 = (1 << 47) - mem::PAGE;
    let at = |addr: usize, len| Some(span(addr, len)).filter(|it| aligned(addr) && it.1 <= END);
    match nr {
        c::__NR_mmap if args[3] as u32 & EXACT == c::MAP_FIXED => [at(args[0], args[1]), None],
        c::__NR_munmap => [at(args[0], args[1]), None],
        c::__NR_mprotect | c::__NR_pkey_mprotect => [at(args[0], 1), None],
        c::__NR_madvise if drops(args[2]) => [at(args[0], args[1]), None],
        c::__NR_mremap if args[3] as u32 & c::MREMAP_FIXED != 0 => {
            [at(args[0], 1), at(args[4], args[2])]
        }
        c::__NR_mremap => [at(args[0], 1), None],
        _ => [None, None],
    }
}

fn make(nr: u32, args: &[usize; 6]) -> isize {
    if nr == c::__NR_munmap {
        spare::removed();
    } else {
        spare::made();
    }
    match nr {
        c::__NR_mmap => mmap(args),
        c::__NR_munmap => before(args, nr),
        c::__NR_mprotect | c::__NR_pkey_mprotect => mprotect(nr, args),
        c::__NR_madvise => madvise(args),
        c::__NR_mremap => mremap(args),
        c::__NR_shmat => shmat(args),
        c::__NR_mseal => mseal(args),
        c::__NR_brk => resident::brk(args),
        _ => pass(nr, args),
    }
}

/// Whether it is an address: not an error, nor what a filter makes of a call.
pub fn ok(result: isize) -> bool {
    !(-4095..0).contains(&result) && aligned(result as usize)
}

pub fn span(addr: usize, len: usize) -> (u64, u64) {
    let start = addr as u64;
    (start, mem::page_up(start.saturating_add(len as u64)))
}

/// Calls that take code away: forget it first, so that no other thread finds a
/// translation of what is gone. Should the call fail, it is translated again.
fn before(args: &[usize; 6], nr: u32) -> isize {
    let (start, end) = span(args[0], args[1]);
    if aligned(args[0]) {
        invalidate::range(&mut vm::lock(), start, end);
    }
    pass(nr, args)
}

fn aligned(addr: usize) -> bool {
    (addr as u64).is_multiple_of(mem::PAGE)
}

fn mmap(args: &[usize; 6]) -> isize {
    let flags = args[3] as u32;
    if flags & c::MAP_FIXED != 0 && aligned(args[0]) {
        let (start, end) = span(args[0], args[1]);
        invalidate::range(&mut vm::lock(), start, end);
    }
    let result = resident::map(args);
    if ok(result) && args[2] & EXEC != 0 {
        learn(result as usize, args);
    }
    if ok(result) && is_shared(args) {
        let (start, end) = span(result as usize, args[1]);
        let mut vm = vm::lock();
        if vm.quiet {
            vm.images.shared.add(start, end);
        }
    }
    result
}

fn is_shared(args: &[usize; 6]) -> bool {
    args[3] as u32 & c::MAP_TYPE & c::MAP_SHARED != 0
}

/// New executable memory.
fn learn(addr: usize, args: &[usize; 6]) {
    let (start, end) = span(addr, args[1]);
    let flags = args[3] as u32;
    let anonymous = flags & c::MAP_ANONYMOUS != 0;
    let fd = args[4] as i32;
    let stat = if anonymous { None } else { stat_fd(fd).ok() };
    let entry = MapEntry {
        start,
        end,
        readable: true,
        writable: args[2] & WRITE != 0,
        executable: true,
        shared: is_shared(args),
        offset: if anonymous { 0 } else { args[5] as u64 },
        inode: stat.map_or(0, |s| s.ino),
        path: if anonymous {
            String::new()
        } else {
            path_of(fd)
        },
    };
    let mut vm = vm::lock();
    crate::image_add(&mut vm, &entry, stat, false);
}

fn mprotect(nr: u32, args: &[usize; 6]) -> isize {
    let (start, end) = span(args[0], args[1]);
    let executable = args[2] & EXEC != 0;
    let writable = args[2] & WRITE != 0;
    // Bytes may be written while the memory is not executable: whatever was made from the
    // range is taken out of use first, so that no other thread finds a translation of what
    // is gone. What is not known is read from the kernel, or noted where the kernel does
    // not tell any more.
    if vm::lock().images.overlaps(start, end) {
        invalidate::protected(&mut vm::lock(), start, end, executable);
    }
    let result = pass(nr, args);
    if !executable {
        return result;
    }
    let mut vm = vm::lock();
    if result == 0 {
        vm.images.unpark(start, end, writable);
    }
    if vm.quiet && result == 0 {
        let entry = vm.images.shared.entry(start, end, writable);
        crate::image_add(&mut vm, &entry, None, false);
    }
    result
}

/// Whether the memory may read otherwise after that advice (madvise(2)).
fn drops(advice: usize) -> bool {
    matches!(
        advice as u32,
        c::MADV_DONTNEED
            | c::MADV_FREE
            | c::MADV_REMOVE
            | c::MADV_DONTNEED_LOCKED
            | c::MADV_GUARD_INSTALL
    )
}

fn madvise(args: &[usize; 6]) -> isize {
    let result = pass(c::__NR_madvise, args);
    let (start, end) = span(args[0], args[1]);
    if drops(args[2]) && vm::lock().images.overlaps(start, end) {
        invalidate::fragments(&mut vm::lock(), start, end);
    }
    result
}

fn mremap(args: &[usize; 6]) -> isize {
    let (start, end) = span(args[0], args[1]);
    invalidate::range(&mut vm::lock(), start, end);
    if args[3] as u32 & c::MREMAP_FIXED != 0 {
        let (start, end) = span(args[4], args[2]);
        invalidate::range(&mut vm::lock(), start, end);
    }
    pass(c::__NR_mremap, args)
}

/// Sealed memory keeps its protection (mseal(2)), ours as well: code there that the app may
/// write to is compared from here on.
fn mseal(args: &[usize; 6]) -> isize {
    let (start, end) = span(args[0], args[1]);
    let mut vm = vm::lock();
    invalidate::unguard(&mut vm, start, end);
    pass(c::__NR_mseal, args)
}

fn shmat(args: &[usize; 6]) -> isize {
    /// In place of what is mapped there (shmat(2)).
    const SHM_REMAP: usize = 0o40_000;
    if args[2] & SHM_REMAP != 0 {
        invalidate::release_all(&mut vm::lock());
    }
    let result = pass(c::__NR_shmat, args);
    if ok(result) {
        // Its size is the kernel's to know; executable parts are met when jumped to.
        let start = result as u64;
        resident::attached(start);
        invalidate::range(&mut vm::lock(), start, start + mem::PAGE);
    }
    result
}
