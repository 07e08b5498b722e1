//! Links, flushes and epochs.

use crate::fresh::Kind;
use crate::fresh::arena::{Chunk, GRAIN};
use crate::fresh::views::Views;
use crate::testing::{App, World, add, fields, fragment, stub_of};
use crate::{CodeCache, Manner};
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_images::ImageId;
use ppin_os::mem;
use ppin_relocator::{normalise, normalise_parts};

#[test]
fn a_link_is_a_branch_and_a_slot_and_both_are_taken_back() {
    let mut world = World::new();
    let (a, b) = (
        world.trace(0, 8, &[0x100, 0x200]),
        world.trace(0x100, 8, &[]),
    );
    let before = fields(world.fresh(a), 0);
    assert_eq!(world.leads(a, 0), None);
    world.link(a, 0, b);
    assert_eq!((world.leads(a, 0), world.leads(a, 1)), (Some(b.0), None));
    world.code.fresh.unlink(b.0);
    assert_eq!(fields(world.fresh(a), 0), before);
}

#[test]
fn what_is_frozen_is_what_was_made_whatever_has_happened_to_it() {
    let mut world = World::new();
    let made = fragment(0, 8, &[0x100, 0x200], Context::CANONICAL);
    let (a, b) = (
        world.trace(0, 8, &[0x100, 0x200]),
        world.trace(0x100, 8, &[]),
    );
    world.link(a, 0, b);
    let whole = world.code.whole_fragment(world.code.fresh_at(a.0).unwrap());
    let (mut hot, mut cold) = (whole.hot.to_vec(), whole.cold.to_vec());
    assert_ne!(hot, made.hot, "relocated, and linked");
    normalise_parts(whole.relocs, whole.exits, &mut hot, &mut cold);
    let mut expected = made.clone();
    normalise(&mut expected);
    assert_eq!((hot, cold), (expected.hot, expected.cold));
    assert_eq!((whole.exits, whole.slots), (&*made.exits, &*made.slots));
}

#[test]
fn an_exit_that_is_linked_twice_gets_back_what_it_was_at_first() {
    let mut world = World::new();
    let (a, b) = (world.trace(0, 8, &[0x100]), world.trace(0x100, 8, &[]));
    let before = fields(world.fresh(a), 0);
    // As two threads do that have left by the same exit.
    world.link(a, 0, b);
    world.link(a, 0, b);
    world.code.fresh.unlink(b.0);
    assert_eq!(fields(world.fresh(a), 0), before);
}

#[test]
fn an_exit_that_is_linked_elsewhere_is_not_linked_to_its_old_target_any_more() {
    let mut world = World::new();
    let a = world.trace(0, 8, &[0x100]);
    let (b, c) = (world.trace(0x100, 8, &[]), world.trace(0x100, 9, &[]));
    let before = fields(world.fresh(a), 0);
    world.link(a, 0, b);
    world.link(a, 0, c);
    world.code.fresh.unlink(b.0);
    assert_eq!(world.leads(a, 0), Some(c.0));
    world.code.seal();
    world.link(a, 0, b);
    assert_eq!(world.leads(a, 0), Some(b.0));
    world.code.fresh.unlink(c.0);
    world.code.fresh.unlink(b.0);
    assert_eq!(fields(world.fresh(a), 0), before);
}

#[test]
fn links_to_others_stay() {
    let mut world = World::new();
    let a = world.trace(0, 8, &[0x100, 0x200]);
    let (b, c) = (world.trace(0x100, 8, &[]), world.trace(0x200, 8, &[0]));
    world.link(a, 0, b);
    world.link(a, 1, c);
    world.link(c, 0, a);
    world.code.fresh.unlink(b.0);
    assert_eq!((world.leads(a, 0), world.leads(a, 1)), (None, Some(c.0)));
    assert_eq!(world.leads(c, 0), Some(a.0));
}

#[test]
fn code_that_is_shared_with_a_child_is_linked_by_its_slot_alone() {
    let mut world = World::new();
    let (a, b) = (world.trace(0, 8, &[0x100]), world.trace(0x100, 8, &[]));
    let (branch, _) = fields(world.fresh(a), 0);
    world.code.seal();
    world.link(a, 0, b);
    assert_eq!(fields(world.fresh(a), 0), (branch, b.0));
    world.code.fresh.unlink(b.0);
    assert_eq!(world.leads(a, 0), None);
}

#[test]
fn a_target_beyond_reach_is_linked_by_its_slot_alone() {
    let mut world = World::new();
    let a = world.trace(0, 8, &[0x100]);
    let (branch, _) = fields(world.fresh(a), 0);
    let far = a.0 ^ (1 << 40);
    let exit = world.code.exit_at(stub_of(world.fresh(a), 0));
    world.code.fresh.link(&exit.expect("it has one"), far);
    assert_eq!(fields(world.fresh(a), 0), (branch, far));
    world.code.fresh.forget(far, far + 1);
    assert_eq!(world.leads(a, 0), None);
}

#[test]
fn what_lies_in_a_forgotten_range_is_not_written_to_later() {
    let mut world = World::new();
    let (a, b) = (world.trace(0, 8, &[0x100]), world.trace(0x100, 8, &[0]));
    world.link(a, 0, b);
    world.link(b, 0, a);
    let space = world.fresh(a).space();
    // As if the slots of `a` were those of a unit that has gone.
    world.code.fresh.forget(space.slots, space.slots + 8);
    world.code.fresh.unlink(b.0);
    assert_eq!(world.leads(a, 0), Some(b.0));
    world.code.fresh.unlink(a.0);
    assert_eq!(world.leads(b, 0), None);
}

#[test]
fn a_flush_takes_back_all_links_and_forgets_what_is_found_by_address() {
    let mut world = World::new();
    let (a, b) = (world.trace(0, 8, &[0x100]), world.trace(0x100, 8, &[]));
    world.link(a, 0, b);
    world.code.link_indirect(world.pc(0x100), b);
    let (slot, leave) = (
        world.fresh(a).space().slots,
        world.fresh(a).space().stubs + 6,
    );
    world.code.flush();
    // SAFETY: retired code stays mapped.
    assert_eq!(unsafe { (slot as *const u64).read() }, leave);
    let (pc, context) = (world.pc(0x100), Context::CANONICAL);
    assert_eq!(world.code.known(pc, context), None);
    assert_eq!(world.code.dormant(pc, context), None);
    assert_eq!(world.code.found(pc.0), None);
    assert_eq!(world.code.fragments(), 0);
}

#[test]
fn retired_code_is_known_until_every_thread_has_come_by() {
    let mut world = World::new();
    let a = world.trace(0x40, 8, &[]);
    let before = world.code.epoch();
    world.code.flush();
    assert_eq!(world.code.epoch(), before + 1);
    world.code.reclaim(before, &[]);
    assert!(world.code.in_cache(a.0));
    assert_eq!(world.code.hot_of(a.0 + 4), Some(a.0));
    assert_eq!(world.code.base_at(a.0).0, world.app.start);
    assert_eq!(world.code.spot(a.0).map(|s| s.pc), Some(world.pc(0x40)));
    assert!(
        world.code.running_maps(a.0).is_none(),
        "it may not be entered"
    );
    world.code.reclaim(before + 1, &[]);
    assert!(!world.code.in_cache(a.0));
    assert_eq!(world.code.hot_of(a.0), None);
    assert_eq!(
        world.code.ranges().chain(world.code.idle_ranges()).count(),
        0
    );
}

#[test]
fn of_a_thread_that_waits_the_record_is_kept() {
    let mut world = World::new();
    let [a, b, c] = [0x40, 0x80, 0xc0].map(|at| {
        let entry = world.trace(at, 8, &[]);
        world.code.flush();
        entry
    });
    let (now, record) = (
        world.code.epoch(),
        world.code.fresh.retired[1].chunks()[0].range().0,
    );
    assert!(world.code.keeps_flushed_code());
    world.code.reclaim(now, &[record]);
    let kept = [a, b, c].map(|entry| world.code.in_cache(entry.0));
    assert_eq!(kept, [false, true, false]);
    assert_eq!(world.code.spot(b.0).map(|s| s.pc), Some(world.pc(0x80)));
    world.code.reclaim(now, &[]);
    assert!(!world.code.in_cache(b.0));
}

#[test]
fn where_nothing_can_be_mapped_again_memory_is_used_again() {
    let mut world = World::with(8, 4 << 20);
    world.trace(0, 8, &[]);
    world.code.lay_in(true);
    let idle = world.code.idle_ranges().count();
    assert_eq!(idle, 1, "as much again is laid in");
    for _ in 0..3 {
        let a = world.trace(0, 8, &[]);
        world.code.flush();
        assert!(world.code.in_cache(a.0));
        world.code.reclaim(world.code.epoch(), &[]);
        assert!(!world.code.in_cache(a.0));
        let ranges = world.code.ranges().chain(world.code.idle_ranges()).count();
        assert_eq!(ranges, 3);
    }
}

#[test]
fn a_full_cache_says_so_and_has_room_after_a_flush() {
    let mut world = World::with(1, 16 * mem::PAGE);
    let mut large = fragment(0, 8, &[], Context::CANONICAL);
    large.hot.resize(10_000, 0x90);
    let mut installed = 0;
    while world.install(large.clone(), Kind::Trace).is_ok() {
        installed += 1;
        assert!(installed < 100, "there is a limit");
    }
    assert!(installed > 0);
    assert!(!world.code.has_room(1 << 20));
    world.code.flush();
    assert!(world.install(large, Kind::Trace).is_ok());
}

#[test]
fn a_fragment_larger_than_a_chunk_gets_one_of_its_own() {
    let mut world = World::new();
    let mut large = fragment(0, 8, &[0x100], Context::CANONICAL);
    large.hot.resize(1 << 20, 0x90);
    let entry = world.install(large, Kind::Trace).expect("there is room");
    assert_eq!(world.code.hot_of(entry.0 + (1 << 20) - 1), Some(entry.0));
    assert_eq!(world.leads(entry, 0), None);
}

#[test]
fn what_another_fork_holds_is_copied_before_it_is_written_to() {
    let mut world = World::new();
    let a = world.trace(0, 8, &[0x100]);
    world.code.seal();
    assert!(world.code.fresh.chunks.iter().all(Chunk::is_sealed));
    let b = world.trace(0x100, 8, &[]);
    assert!(!world.code.fresh.chunks.iter().any(Chunk::is_sealed));
    world.link(a, 0, b);
    assert_eq!(world.leads(a, 0), Some(b.0));
}

#[test]
fn chunks_lie_within_reach_of_all_that_the_code_refers_to() {
    let world = World::new();
    let (start, end) = (world.app.start, world.app.start + world.app.len);
    let near = |salt| Chunk::near(start, (start, end), GRAIN, salt, Views::at);
    let (a, b) = (near(0).expect("a place"), near(0).expect("another place"));
    for chunk in [&a, &b] {
        assert!(chunk.reaches(start, end));
    }
    assert!(a.range().1 <= b.range().0 || b.range().1 <= a.range().0);
    a.free();
    b.free();
    // Nothing reaches both ends of this.
    let wide = (start, start + (1 << 32));
    assert!(Chunk::near(start, wide, GRAIN, 0, Views::at).is_err());
}

fn near(at: u64, app: &App) -> bool {
    at.abs_diff(app.start) < 1 << 31
}

/// Installs a trace at the start of `image`, whose memory is `app`, that refers to no address.
fn trace_of(code: &mut CodeCache, image: ImageId, app: &App) -> u64 {
    let plain = fragment(0, 8, &[16], Context::CANONICAL);
    let room = code.make_room(image, &plain, Manner::default());
    let (source, pc) = (app.read(app.start, 8), AppPc(app.start));
    let room = room.expect("there is some");
    let id = code.install(room, (image, pc), plain, &source, Kind::Trace);
    code.fragment(id).entry().0
}

#[test]
fn code_that_refers_to_no_address_lies_near_its_image() {
    let mut world = World::with(8, 2 << 20);
    let others = [App::new(1), App::new(1)];
    let [second, third] = [0, 1].map(|n: usize| add(&mut world.code, &others[n]));
    assert!(near(world.trace(0, 8, &[16]).0, &world.app));
    assert!(near(
        trace_of(&mut world.code, second, &others[0]),
        &others[0]
    ));
    assert!(
        near(world.trace(64, 8, &[0]).0, &world.app),
        "not in the newest"
    );
    // There may be two chunks, so code of the third image has to lie in one of them.
    let far = trace_of(&mut world.code, third, &others[1]);
    assert!(near(far, &world.app) || near(far, &others[0]));
    assert_eq!(world.code.fresh.chunks.len(), 2);
}

#[test]
fn where_there_is_no_place_near_an_image_its_code_lies_elsewhere() {
    const AROUND: u64 = 3 << 30;
    let mut world = World::new();
    let app = App::new(1);
    let image = add(&mut world.code, &app);
    let sides = [app.start - AROUND, app.start + app.len];
    for side in sides {
        mem::map_anon_at(side, AROUND, mem::NONE).expect("nobody maps there");
    }
    let first = world.trace(0, 8, &[16]).0;
    let there = trace_of(&mut world.code, image, &app);
    assert!(near(first, &world.app) && near(there, &world.app) && !near(there, &app));
    assert!(world.code.images.get(image).crowded && !world.code.images.get(world.image).crowded);
    for side in sides {
        // SAFETY: nothing lies there.
        unsafe { mem::unmap(side, AROUND) }.expect("mapped above");
    }
}
