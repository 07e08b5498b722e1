//! Calls that change mappings: translations of the memory are invalidated.

use super::outcome::{self, Outcome, pass};
use super::pages::Pages;
use super::{advice, around, attached, locked};
use crate::life::leave;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_os::descriptor::path_of;
use ppin_os::file::stat_fd;
use ppin_os::maps::MapEntry;
use ppin_os::{c, mem, report, stock};
use ppin_process::thread::Thread;
use ppin_process::{ours, vm};
use ppin_translate::changes;

const EXEC: usize = c::PROT_EXEC as usize;
const WRITE: usize = c::PROT_WRITE as usize;
const READ: usize = c::PROT_READ as usize;

/// Reason for the statistics: the process maps over the runtime.
const MAPPED_OVER_RUNTIME: &str = "it changed the memory where ppin lay";

/// Makes the call and updates translations. A call that maps something over the runtime's memory is
/// possible only if the process is left to itself.
pub(super) fn handle(thread: &Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    let hit = |(start, end)| ours::overlap(&vm::lock(), start, end);
    let replaced = replaced(nr, args).map(Pages::bounds).filter(|it| hit(*it));
    let Some((start, end)) = replaced else {
        let result = around::call(nr, args).unwrap_or_else(|| make(nr, args));
        return Outcome::Done(result);
    };
    if leave::is_possible(thread) {
        return Outcome::Natively(MAPPED_OVER_RUNTIME);
    }
    report::give_up(format_args!(
        "the program changes memory at {start:#x}-{end:#x}, where ppin lies; run it without ppin \
         (a process with one thread and no filter of system calls would have been left to itself)"
    ))
}

/// The memory that the call replaces or moves away, whatever is mapped there.
fn replaced(nr: u32, args: &[usize; 6]) -> Option<Pages> {
    // (`MAP_FIXED_NOREPLACE` has precedence, and replaces nothing.)
    const EXACT: u32 = c::MAP_FIXED | c::MAP_FIXED_NOREPLACE;
    const MOVED: u32 = c::MREMAP_FIXED | c::MREMAP_DONTUNMAP;
    let place = match nr {
        c::__NR_mmap if args[3] as u32 & EXACT == c::MAP_FIXED => Pages::new(args[0], args[1]),
        c::__NR_mremap => {
            let exact = args[3] as u32 & c::MREMAP_FIXED != 0;
            let to = Pages::new(args[4], args[2]).filter(|_| exact);
            to.filter(|to| is_ours(*to)).or_else(|| {
                // Moves several mappings at once, with holes between them.
                let [from, kept] = [args[1], args[2]].map(|len| Pages::new(args[0], len));
                let all = args[3] as u32 & MOVED != 0 && from == kept;
                let from = from.filter(|_| all);
                from.filter(|_| !Pages::new(args[0], 1).is_some_and(is_ours))
            })
        }
        c::__NR_shmat => attached::replaced(args),
        _ => None,
    };
    place.filter(|it| it.is_user())
}

fn is_ours(pages: Pages) -> bool {
    let (start, end) = pages.bounds();
    ours::overlap(&vm::lock(), start, end)
}

/// Notes that the app has made a mapping, or split one. If it may be about to use up all mappings,
/// the code cache joins its own from then on.
fn note_mapping_added() {
    if stock::mapping_added() {
        vm::lock().code_mut().join_all();
        stock::keep();
    }
}

/// Makes the call, which touches no memory of the runtime.
pub(super) fn make(nr: u32, args: &[usize; 6]) -> isize {
    if nr == c::__NR_munmap {
        stock::mapping_removed();
    } else {
        note_mapping_added();
    }
    match nr {
        c::__NR_mmap => mmap(args),
        c::__NR_munmap => munmap(args),
        c::__NR_mprotect | c::__NR_pkey_mprotect => mprotect(nr, args),
        c::__NR_madvise => advice::madvise(args),
        c::__NR_process_madvise => advice::process_madvise(args),
        c::__NR_mremap => mremap(args),
        c::__NR_remap_file_pages => remap_file_pages(args),
        c::__NR_shmat => attached::shmat(args),
        c::__NR_mseal => mseal(args),
        c::__NR_brk => brk(args),
        _ => pass(nr, args),
    }
}

/// Invalidates memory before the call that removes it, so that no other thread finds a translation
/// of code that is gone. If the call fails, the code is translated again.
pub(super) fn forget(pages: Option<Pages>) {
    if let Some((start, end)) = pages.map(Pages::bounds) {
        changes::range(&mut vm::lock(), start, end);
    }
}

fn munmap(args: &[usize; 6]) -> isize {
    forget(Pages::new(args[0], args[1]));
    pass(c::__NR_munmap, args)
}

fn mmap(args: &[usize; 6]) -> isize {
    let flags = args[3] as u32;
    if flags & c::MAP_FIXED != 0 {
        forget(Pages::new(args[0], args[1]));
    }
    let result = locked::map(args);
    let made = Pages::new(result as usize, args[1]).filter(|_| outcome::ok(result));
    let Some((start, end)) = made.map(Pages::bounds) else {
        return result;
    };
    // (Another thread may have sealed what was there until now.)
    vm::lock().code_mut().unseal_cells(start, end);
    if args[2] & EXEC != 0 {
        register(start, end, args);
    }
    if is_shared(args) {
        let mut vm = vm::lock();
        if vm.is_filtered() {
            vm.code_mut().images_mut().add_shared(start, end);
        }
    }
    result
}

fn is_shared(args: &[usize; 6]) -> bool {
    args[3] as u32 & c::MAP_TYPE & c::MAP_SHARED != 0
}

/// Registers new executable memory.
fn register(start: u64, end: u64, args: &[usize; 6]) {
    let flags = args[3] as u32;
    let anonymous = flags & c::MAP_ANONYMOUS != 0;
    let fd = args[4] as i32;
    let stat = if anonymous { None } else { stat_fd(fd).ok() };
    let mut vm = vm::lock();
    // That of a file can be asked later, as long as the kernel's list can be read.
    let entry = MapEntry {
        start,
        end,
        readable: true,
        writable: args[2] & WRITE != 0,
        executable: true,
        shared: is_shared(args),
        offset: if anonymous { 0 } else { args[5] as u64 },
        inode: stat.map_or(0, |s| s.ino),
        path: if anonymous || (stat.is_some() && !vm.is_filtered()) {
            String::new()
        } else {
            path_of(fd)
        },
    };
    ppin_process::app_code::add(&mut vm, &entry, stat, false);
}

fn mprotect(nr: u32, args: &[usize; 6]) -> isize {
    let Some((start, end)) = Pages::new(args[0], args[1]).map(Pages::bounds) else {
        return pass(nr, args);
    };
    let executable = args[2] & EXEC != 0;
    let writable = args[2] & WRITE != 0;
    let mut vm = vm::lock();
    vm.code_mut().unseal_cells(start, end);
    let known = vm.code().images().overlaps(start, end);
    // Bytes may be written while the memory is not executable. So translations of the range are
    // taken out of use first, so that no other thread finds one of code that is gone. A range that
    // is not known is read from the kernel's list later, or registered here if a filter forbids to
    // read it.
    if known {
        changes::protected(&mut vm, start, end, executable);
    }
    // The lock is held during the call: code that another thread translates and guards before the
    // call would lose its guard through it, and what another one seals would not be sealed.
    let result = pass(nr, args);
    if nr == c::__NR_mprotect && args[2] == READ && result == 0 {
        vm.code_mut().seal_cells(start, end);
    }
    if executable && result == 0 {
        vm.code_mut().images_mut().unpark(start, end, writable);
        if vm.is_filtered() {
            let entry = vm.code().images().unlisted(start, end, writable);
            ppin_process::app_code::add(&mut vm, &entry, None, false);
        }
    }
    result
}

fn mremap(args: &[usize; 6]) -> isize {
    forget(Pages::new(args[0], args[1]));
    if args[3] as u32 & c::MREMAP_FIXED != 0 {
        forget(Pages::new(args[4], args[2]));
    }
    pass(c::__NR_mremap, args)
}

/// remap_file_pages(2): another part of the same file, with the protection of the first page.
fn remap_file_pages(args: &[usize; 6]) -> isize {
    const WITHIN: usize = mem::PAGE as usize - 1;
    let pages = Pages::new(args[0] & !WITHIN, args[1] & !WITHIN);
    let (start, end) = pages.map_or((0, 0), Pages::bounds);
    let executable = vm::lock().code().images().overlaps(start, end);
    forget(pages);
    let result = pass(c::__NR_remap_file_pages, args);
    let mut vm = vm::lock();
    if vm.is_filtered() && executable && result == 0 {
        let entry = vm.code().images().unlisted(start, end, true);
        ppin_process::app_code::add(&mut vm, &entry, None, false);
    }
    result
}

/// Sealed memory keeps its protection (mseal(2)), that of guards as well. So code there that the
/// app may write to is compared at every entry from now on.
fn mseal(args: &[usize; 6]) -> isize {
    let mut vm = vm::lock();
    if let Some((start, end)) = Pages::new(args[0], args[1]).map(Pages::bounds) {
        changes::unguard(&mut vm, start, end);
    }
    pass(c::__NR_mseal, args)
}

/// The last known program break; 0: unknown.
static BREAK: AtomicU64 = AtomicU64::new(0);

/// Forgets the program break, which may have moved (prctl(2), `PR_SET_MM`).
pub(super) fn break_moved() {
    BREAK.store(0, Ordering::Relaxed);
}

/// Makes brk(2). Memory that it removes may hold code.
fn brk(args: &[usize; 6]) -> isize {
    let mut before = BREAK.load(Ordering::Relaxed);
    if before == 0 && args[0] != 0 {
        before = pass(c::__NR_brk, &[0; 6]) as u64;
    }
    let result = locked::brk(args);
    if ok_break(result) {
        BREAK.store(result as u64, Ordering::Relaxed);
        forget(Pages::between(
            mem::page_up(result as u64),
            mem::page_up(before),
        ));
    }
    result
}

/// Whether `result` is a program break, not an error: only a filter makes the call fail.
fn ok_break(result: isize) -> bool {
    result > 0
}
