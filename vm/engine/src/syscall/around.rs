//! Calls on a range of memory in which memory of the runtime lies. To the program that is a hole:
//! the calls act on its own part only, and return what the kernel returns for holes (in its mm/).

use super::memory;
use super::outcome::{self, pass};
use super::pages::{self, Pages};
use alloc::vec::Vec;
use ppin_os::{Errno, c, maps, mem, place};
use ppin_process::{ours, vm};

/// Makes the call on the program's part of the range; returns its result. `None`: no memory of the
/// runtime lies in the range.
pub(super) fn call(nr: u32, args: &[usize; 6]) -> Option<isize> {
    let pages = named(nr, args)?;
    let pieces = pages.without(ours::all(&vm::lock()))?;
    Some(match nr {
        c::__NR_munmap => each(&of_the_app(pieces), nr, args).unwrap_or(0),
        c::__NR_madvise if !ends_at_holes(args[2]) => {
            each(&of_the_app(pieces), nr, args).unwrap_or(Errno::ENOMEM.raw())
        }
        c::__NR_msync => each(&pieces, nr, args).unwrap_or(Errno::ENOMEM.raw()),
        c::__NR_mremap => remap(&pieces, pages, args),
        c::__NR_mbind if is_default_policy(args[2]) => {
            let pieces = of_the_app(pieces);
            let done = if pieces.is_empty() {
                Errno::EFAULT.raw()
            } else {
                0
            };
            each(&pieces, nr, args).unwrap_or(done)
        }
        c::__NR_mbind | c::__NR_mseal | c::__NR_remap_file_pages => on_a_hole(nr, args),
        c::__NR_mprotect | c::__NR_pkey_mprotect if args[2] as u32 & c::PROT_GROWSDOWN != 0 => {
            // (Acts from the start of the first mapping.)
            let first = of_the_app(pieces).into_iter().take(1).collect::<Vec<_>>();
            each(&first, nr, args).unwrap_or(Errno::ENOMEM.raw())
        }
        _ => up_to_the_hole(&pieces, pages, nr, args),
    })
}

/// Whether madvise(2) with this advice stops at the first hole.
fn ends_at_holes(advice: usize) -> bool {
    matches!(
        advice as u32,
        c::MADV_POPULATE_READ | c::MADV_POPULATE_WRITE | c::MADV_HWPOISON | c::MADV_SOFT_OFFLINE
    )
}

/// Whether mbind(2) with this mode ignores holes.
fn is_default_policy(mode: usize) -> bool {
    /// `MPOL_MODE_FLAGS`.
    const FLAGS: u32 = 7 << 13;
    mode as u32 & !FLAGS == 0
}

/// The range that the call acts on; `None` if it acts on none.
fn named(nr: u32, args: &[usize; 6]) -> Option<Pages> {
    const WITHIN: usize = mem::PAGE as usize - 1;
    match nr {
        // (The kernel refuses other ranges.)
        c::__NR_munmap | c::__NR_mincore => Pages::new(args[0], args[1]).filter(|it| it.is_user()),
        c::__NR_mprotect
        | c::__NR_pkey_mprotect
        | c::__NR_madvise
        | c::__NR_mseal
        | c::__NR_msync
        | c::__NR_mbind => Pages::new(args[0], args[1]),
        c::__NR_mlock | c::__NR_mlock2 | c::__NR_munlock => Pages::around(args[0], args[1]),
        c::__NR_remap_file_pages => Pages::new(args[0] & !WITHIN, args[1] & !WITHIN),
        c::__NR_mremap => cut_off(args).or_else(|| Pages::new(args[0], 1)),
        _ => None,
    }
}

/// The part of the memory that mremap(2) unmaps when it shortens it.
fn cut_off(args: &[usize; 6]) -> Option<Pages> {
    let [old, new] = [args[1], args[2]].map(|len| Pages::new(args[0], len));
    let (from, to) = (new?.bounds().1, old.filter(|it| it.is_user())?.bounds().1);
    let moves = args[3] as u32 & c::MREMAP_DONTUNMAP != 0;
    Pages::between(from, to).filter(|_| !moves)
}

/// The mapped parts of `pieces`, by the kernel's list. (Other threads may map more meanwhile, but
/// not over the runtime's memory.)
fn of_the_app(pieces: Vec<Pages>) -> Vec<Pages> {
    let Ok(list) = maps::read() else {
        return pieces;
    };
    let within = |piece: &Pages| {
        let (start, end) = piece.bounds();
        let common = |map: &maps::MapEntry| Pages::between(map.start.max(start), map.end.min(end));
        // (The last entry of the list is a page of the kernel.)
        let list = list.iter().filter(|map| map.end <= pages::END);
        list.filter_map(common).collect::<Vec<_>>()
    };
    pieces.iter().flat_map(within).collect()
}

/// Makes the call on each piece; returns the first result that is neither success nor the error for
/// holes.
fn each(pieces: &[Pages], nr: u32, args: &[usize; 6]) -> Option<isize> {
    if pieces.is_empty() {
        // The arguments may still be invalid: the kernel checks them.
        let result = on_a_hole(nr, args);
        return Some(result).filter(|it| ![0, Errno::ENOMEM.raw()].contains(it));
    }
    let mut results = pieces.iter().map(|piece| on(*piece, nr, args));
    results.find(|result| ![0, Errno::ENOMEM.raw()].contains(result))
}

fn on(pages: Pages, nr: u32, args: &[usize; 6]) -> isize {
    let mut args = *args;
    [args[0], args[1]] = pages.args();
    memory::make(nr, &args)
}

/// Makes the call on an unmapped page.
fn on_a_hole(nr: u32, args: &[usize; 6]) -> isize {
    let mut args = *args;
    [args[0], args[1]] = [place::gap() as usize, mem::PAGE as usize];
    pass(nr, &args)
}

/// Makes a call that stops at the first hole.
fn up_to_the_hole(pieces: &[Pages], pages: Pages, nr: u32, args: &[usize; 6]) -> isize {
    let first = pieces.first();
    match first.filter(|piece| piece.bounds().0 == pages.bounds().0) {
        Some(piece) => match on(*piece, nr, args) {
            0 => Errno::ENOMEM.raw(),
            result => result,
        },
        None => on_a_hole(nr, args),
    }
}

/// Makes mremap(2), from a hole or to a shorter length.
fn remap(pieces: &[Pages], cut_off: Pages, args: &[usize; 6]) -> isize {
    if cut_off.bounds().0 == args[0] as u64 {
        let mut args = *args;
        args[0] = place::gap() as usize;
        return pass(c::__NR_mremap, &args);
    }
    let mut args = *args;
    args[1] = args[2];
    let result = memory::make(c::__NR_mremap, &args);
    if outcome::ok(result) {
        each(&of_the_app(pieces.to_vec()), c::__NR_munmap, &[0; 6]);
    }
    result
}
