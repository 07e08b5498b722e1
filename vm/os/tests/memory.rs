//! Mappings, their places, and reads of memory that is not there.

use ppin_os::map_query::MapQuery;
use ppin_os::mem::{self, PAGE};
use ppin_os::pagemap::{InMemory, Pagemap};
use ppin_os::{Errno, budget, c, maps, peek, place, raw, regions};
use std::os::fd::AsRawFd;

/// So many pages of which the last cannot be touched.
fn with_a_hole(pages: u64) -> u64 {
    peek::never_fault();
    let start = place::anywhere(pages * PAGE, mem::RW).expect("there is memory");
    let last = start + (pages - 1) * PAGE;
    // SAFETY: nothing lies there yet.
    unsafe { mem::protect(last, PAGE, mem::NONE) }.expect("mapped just now");
    start
}

#[test]
fn a_read_ends_where_memory_does() {
    let start = with_a_hole(3);
    let end = start + 2 * PAGE;
    let mut bytes = [1; 64];
    assert_eq!(peek::read(end - 10, &mut bytes), 10);
    assert_eq!((bytes[..10].to_vec(), bytes[10]), (vec![0; 10], 1));
    assert_eq!(peek::read(end, &mut bytes), 0);
    let mut long = vec![1; 3 * PAGE as usize];
    assert_eq!(peek::read(start + 5, &mut long), 2 * PAGE as usize - 5);
}

#[test]
fn what_is_expected_need_not_be_there() {
    let start = with_a_hole(2);
    let end = start + 2 * PAGE;
    peek::expect(start, 3 * PAGE);
    for at in [end - 1, end, 0, 1 << 47, u64::MAX - 200] {
        peek::expect(at, 100);
    }
}

#[test]
fn values_are_there_whole_or_not_at_all() {
    let end = with_a_hole(2) + PAGE;
    assert!(peek::write_value(end - 8, &0x1122_3344_5566_7788_u64));
    assert_eq!(
        peek::read_value::<u64>(end - 8),
        Some(0x1122_3344_5566_7788)
    );
    assert_eq!(peek::read_value::<u32>(end - 4), Some(0x1122_3344));
    assert_eq!(peek::read_value::<u64>(end - 7), None);
    assert_eq!(peek::read_value::<u8>(end), None);
    assert!(peek::is_writable(end - 1));
    assert_eq!(
        peek::read_value::<u8>(end - 1),
        Some(0x11),
        "it is as it was"
    );
}

#[test]
fn strings_end_with_a_zero_before_memory_does() {
    let end = with_a_hole(2) + PAGE;
    assert!(peek::write(end - 4, b"ab\0c"));
    assert_eq!(peek::c_string(end - 4, 100).as_deref(), Some(&b"ab\0"[..]));
    assert_eq!(peek::c_string(end - 4, 2), None, "too long");
    assert_eq!(peek::c_string(end - 1, 100), None, "it has no end");
    assert_eq!(peek::c_string(end - 2, 100).as_deref(), Some(&b"\0"[..]));
}

#[test]
fn mappings_of_ours_lie_where_they_belong_and_apart() {
    let take = || place::anywhere(PAGE, mem::RW).expect("there is memory");
    let (a, b) = (take(), take());
    assert!(regions::is_private(a) && regions::is_private(b));
    assert!(a.abs_diff(b) >= 2 * PAGE, "a page between them is free");
    let (first, end) = place::claimed();
    assert!(first <= a.min(b) && a.max(b) < end);
    let (same, more) = place::claimed_by_parent();
    assert!(same == first && end <= more && !regions::is_private(more));
}

#[test]
fn nothing_is_mapped_over_what_is_there() {
    let start = place::anywhere(2 * PAGE, mem::RW).expect("there is memory");
    let over = start + PAGE;
    assert_eq!(
        mem::map_anon_at(over, 2 * PAGE, mem::RW),
        Err(Errno::EEXIST)
    );
    // SAFETY: nothing lies there.
    unsafe { mem::unmap(over, PAGE) }.expect("mapped above");
    assert_eq!(mem::map_anon_at(over, PAGE, mem::RW), Ok(over));
}

#[test]
fn shared_memory_is_seen_at_two_places() {
    let first = place::anywhere_shared(PAGE, mem::RW).expect("there is memory");
    let second = place::anywhere(PAGE, mem::NONE).expect("there is memory");
    // SAFETY: the target was mapped just now; a length of 0 leaves the source as it is.
    unsafe { mem::remap(first, 0, PAGE, second) }.expect("shared memory");
    assert!(peek::write(first, b"seen"));
    assert_eq!(peek::read_value::<[u8; 4]>(second), Some(*b"seen"));
}

#[test]
fn gaps_are_free_and_within_reach() {
    let start = place::anywhere(PAGE, mem::RW).expect("there is memory");
    let len = 16 * PAGE;
    let gaps = place::gaps(start, start + PAGE, len);
    assert!(!gaps.is_empty());
    assert!(
        gaps.iter()
            .all(|at| place::reaches(*at, len, start, start + PAGE))
    );
    let got = gaps
        .iter()
        .find_map(|at| mem::map_anon_at(*at, len, mem::RW).ok());
    assert!(got.is_some_and(|at| gaps.contains(&at)));
}

#[test]
fn limits_that_allow_all_leave_all() {
    let unlimited = [u64::MAX; 2];
    let [space, data] = budget::LIMITS;
    assert_eq!(budget::allowed(space, unlimited), u64::MAX);
    // A soft limit of data that is 0 stands for the hard one.
    assert_eq!(budget::allowed(data, [0, 1 << 30]), 1 << 30);
    assert_eq!(budget::allowed(space, [0, 1 << 30]), 0);
    assert_eq!(budget::last(100 << 20), 1 << 20);
    assert_eq!(budget::last(1 << 20), 1 << 19);
}

#[test]
fn pages_are_rounded_to() {
    assert_eq!((mem::page_down(PAGE - 1), mem::page_down(PAGE)), (0, PAGE));
    assert_eq!(
        (mem::page_up(0), mem::page_up(1), mem::page_up(PAGE)),
        (0, PAGE, PAGE)
    );
}

#[test]
fn memory_is_aligned_where_it_is_told_to_be() {
    const UNIT: u64 = 0x10000;
    for at in (0..UNIT).step_by(PAGE as usize) {
        let start = place::anywhere_aligned(3 * PAGE, at, UNIT).expect("there is memory");
        assert!((start + at).is_multiple_of(UNIT));
        peek::never_fault();
        assert_eq!(peek::read(start + 3 * PAGE - 1, &mut [0]), 1);
    }
}

/// Whether the kernel tells of one mapping, and of the pages of a range (Linux 6.11).
fn kernel_tells(start: u64) -> bool {
    let one = MapQuery::open().and_then(|mut list| list.first_from(start));
    let pages = Pagemap::open().and_then(|pages| pages.in_memory(start, start + PAGE));
    let tells = one.is_ok() && pages.is_ok();
    if !tells {
        eprintln!("skipped: the kernel cannot be asked for one mapping");
    }
    tells
}

#[test]
fn mappings_are_found_one_by_one() {
    let start = with_a_hole(4);
    if !kernel_tells(start) {
        return;
    }
    let listed = maps::read().expect("the list");
    let listed = listed.iter().find(|it| it.start <= start && start < it.end);
    let mut list = MapQuery::open().expect("the list");
    let mut from = |address| list.first_from(address).expect("the kernel's answer");
    assert_eq!(from(start).as_ref(), listed);
    let hole = from(start + 3 * PAGE).expect("the last page");
    assert_eq!(
        (hole.start, hole.readable, hole.writable),
        (start + 3 * PAGE, false, false)
    );
    let program = from(kernel_tells as *const () as u64).expect("the program");
    assert!(program.executable && program.path.contains("memory"));
    assert_eq!(from(1 << 63), None);
}

#[test]
fn pages_in_memory_are_counted_by_kind() {
    let start = place::anywhere(300 * PAGE, mem::RW).expect("there is memory");
    if !kernel_tells(start) {
        return;
    }
    let small = [
        start as usize,
        300 * PAGE as usize,
        c::MADV_NOHUGEPAGE as usize,
        0,
        0,
        0,
    ];
    // SAFETY: mapped just now.
    let _ = unsafe { raw(c::__NR_madvise, small) };
    let in_memory = |pages| {
        let map = Pagemap::open().expect("the pages");
        map.in_memory(start, start + pages * PAGE).expect("counted")
    };
    assert_eq!(in_memory(300), InMemory::default());
    // More stretches than one scan can tell of, with pages that were only read between them.
    for page in (0..300).step_by(2) {
        assert!(peek::write_value(start + page * PAGE, &1u8));
        assert!(peek::read_value::<u8>(start + (page + 1) * PAGE).is_some());
    }
    let anonymous = |pages: u64| InMemory {
        anonymous: pages * PAGE,
        file: 0,
    };
    assert_eq!(
        (in_memory(300), in_memory(9)),
        (anonymous(150), anonymous(5))
    );
    let code = kernel_tells as *const () as u64 & !(PAGE - 1);
    let map = Pagemap::open().expect("the pages");
    let code = map.in_memory(code, code + PAGE).expect("counted");
    assert_eq!((code.anonymous, code.file), (0, PAGE));
}

#[test]
fn copies_of_a_files_pages_are_told_from_the_files() {
    let name = std::env::temp_dir().join(format!("ppin-os-copied-{}", std::process::id()));
    std::fs::write(&name, [7; 4 * PAGE as usize]).expect("a file");
    let file = std::fs::File::open(&name).expect("just written");
    std::fs::remove_file(&name).expect("ours");
    let start = place::anywhere(4 * PAGE, mem::RW).expect("there is memory");
    let args = [
        start as usize,
        4 * PAGE as usize,
        3,
        0x12,
        file.as_raw_fd() as usize,
        0,
    ];
    // SAFETY: the private mapping, at its fixed place, replaces one that nobody uses.
    let mapped = unsafe { raw(c::__NR_mmap, args) };
    assert_eq!(mapped as u64, start);
    assert_eq!(peek::read_value::<u8>(start), Some(7));
    assert!(peek::write_value(start + 2 * PAGE, &1_u8));
    let copied = Pagemap::open().and_then(|map| map.copied(start, start + 4 * PAGE));
    assert_eq!(copied, Ok(vec![start + 2 * PAGE]));
}
