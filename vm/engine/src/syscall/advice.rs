//! madvise(2), and process_madvise(2) of a process on itself.

use super::outcome::pass;
use super::pages::{self, Pages};
use super::{around, killing};
use alloc::vec::Vec;
use ppin_os::{Errno, c, mem, peek, place};
use ppin_process::{ours, vm};
use ppin_translate::changes;

/// Whether the memory may read differently after that advice (madvise(2)).
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

/// `madvise`.
pub(super) fn madvise(args: &[usize; 6]) -> isize {
    let result = pass(c::__NR_madvise, args);
    if let Some(pages) = Pages::new(args[0], args[1]) {
        advised(pages, args[2]);
    }
    result
}

/// Invalidates translations of the memory and by it, if its contents may change.
fn advised(pages: Pages, advice: usize) {
    if !drops(advice) {
        return;
    }
    let (start, end) = pages.bounds();
    let mut vm = vm::lock();
    vm.code_mut().cells_changed(start, end);
    if vm.code().images().overlaps(start, end) {
        changes::fragments(&mut vm, start, end);
    }
}

/// `process_madvise`: one advice for many ranges, in order up to the first that fails. The result
/// is the number of bytes.
pub(super) fn process_madvise(args: &[usize; 6]) -> isize {
    let vectors = vectors(args);
    let ours = first_with_runtime(&vectors);
    let concerns_vm = ours.is_some() || drops(args[3]);
    if !concerns_vm || !is_on_itself(args[0] as i32) {
        return pass(c::__NR_process_madvise, args);
    }
    let result = match ours {
        Some(n) => up_to_runtime(args, &vectors, n),
        None => pass(c::__NR_process_madvise, args),
    };
    for pages in vectors.iter().filter_map(pages) {
        advised(pages, args[3]);
    }
    result
}

/// Makes the call for the first `n` ranges, then for the program's part of the next one, in which
/// the runtime's memory lies: to the program that is a hole.
fn up_to_runtime(args: &[usize; 6], vectors: &[[usize; 2]], n: usize) -> isize {
    let hole = [[place::gap() as usize, mem::PAGE as usize]];
    let before = if n == 0 { &hole[..] } else { &vectors[..n] };
    let mut first = *args;
    [first[1], first[2]] = [before.as_ptr() as usize, before.len()];
    let total: usize = vectors[..n].iter().map(|[_, len]| len).sum();
    let expected = if n == 0 {
        Errno::ENOMEM.raw()
    } else {
        total as isize
    };
    let result = pass(c::__NR_process_madvise, &first);
    if result == expected {
        let [start, len] = vectors[n];
        around::call(c::__NR_madvise, &[start, len, args[3], 0, 0, 0]);
    }
    result
}

/// The ranges, with the lengths that the kernel would use; none if it would reject them.
fn vectors(args: &[usize; 6]) -> Vec<[usize; 2]> {
    let (at, count) = (args[1], args[2]);
    const MOST: usize = c::UIO_MAXIOV as usize;
    const SIZE: u64 = 16;
    /// `MAX_RW_COUNT`, of all together.
    const TOTAL: usize = i32::MAX as usize & !(mem::PAGE as usize - 1);
    let mut left = TOTAL;
    if count > MOST {
        return Vec::new();
    }
    let read = |n| peek::read_value::<[u64; 2]>((at as u64).wrapping_add(SIZE * n));
    let all: Option<Vec<_>> = (0..count as u64).map(read).collect();
    let all = all.filter(|all| !are_refused(args, all));
    let mut cut = |[start, len]: [u64; 2]| {
        let len = left.min(len as usize);
        left -= len;
        [start as usize, len]
    };
    all.unwrap_or_default().into_iter().map(&mut cut).collect()
}

/// Whether the kernel refuses these ranges as they are, before it shortens them: a length is
/// negative, or a range ends where the kernel does not let one end.
fn are_refused(args: &[usize; 6], ranges: &[[u64; 2]]) -> bool {
    const NO_ADVICE: usize = i32::MAX as usize;
    let negative = |[_, len]: &[u64; 2]| *len > isize::MAX as u64;
    let beyond = |[start, len]: &[u64; 2]| start.saturating_add(*len) > pages::END;
    let mut asked = *args;
    asked[3] = NO_ADVICE;
    // (Ranges are looked at before the advice is.)
    let refuses = || pass(c::__NR_process_madvise, &asked) == Errno::EFAULT.raw();
    ranges.iter().any(negative) || ranges.iter().any(beyond) && refuses()
}

fn pages([start, len]: &[usize; 2]) -> Option<Pages> {
    Pages::new(*start, *len)
}

fn first_with_runtime(vectors: &[[usize; 2]]) -> Option<usize> {
    let vm = vm::lock();
    let is = |it: Pages| ours::overlap(&vm, it.bounds().0, it.bounds().1);
    vectors.iter().position(|it| pages(it).is_some_and(is))
}

/// Whether `pidfd` refers to a process that shares this memory.
fn is_on_itself(pidfd: i32) -> bool {
    const SELF: [i32; 2] = [c::PIDFD_SELF_THREAD, c::PIDFD_SELF_THREAD_GROUP];
    SELF.contains(&pidfd) || ppin_process::vm::shares_memory(killing::pid_of(pidfd))
}
