use crate::fresh::Kind;
use crate::testing::{App, World, add, fragment, trap};
use alloc::vec::Vec;
use ppin_abi::context::Context;
use ppin_os::mem::PAGE;

const CANONICAL: Context = Context::CANONICAL;

#[test]
fn a_store_takes_what_was_made_from_the_page_out_of_use_and_says_what() {
    let mut world = World::new();
    world.watch(0, 16);
    world.watch(2 * PAGE, 8);
    let (a, b) = (world.trace(0, 8, &[8]), world.trace(8, 8, &[0]));
    let far = world.trace(2 * PAGE, 8, &[0]);
    world.link(far, 0, a);
    world.link(b, 0, a);
    world.code.link_indirect(world.pc(0), a);
    let (ours, mut dead) = world.code.store(world.pc(5).0, 0);
    dead.sort_unstable();
    assert_eq!((ours, dead), (true, Vec::from([a.0, b.0])));
    for (from, n) in [(far, 0), (b, 0), (a, 0)] {
        assert_eq!(world.leads(from, n), None);
    }
    assert_eq!(world.code.found(world.pc(0).0), None);
    assert_eq!(world.code.known(world.pc(0), CANONICAL), None);
    assert!(world.code.running_maps(a.0).is_none());
    assert!(
        world.code.maps_at(a.0).is_some(),
        "a thread may still be in it"
    );
    assert!(world.code.known(world.pc(2 * PAGE), CANONICAL).is_some());
    world.app.write(world.pc(5).0, &[1]);
}

#[test]
fn a_fault_that_met_no_guard_is_the_apps() {
    let mut world = World::new();
    world.watch(0, 8);
    let behind = world.app.start + world.app.len;
    assert_eq!(world.code.store(behind + 8, 0), (false, Vec::new()));
}

#[test]
fn data_beside_code_is_told_from_code_and_soon_makes_the_page_volatile() {
    let stores = |offset: u64| {
        let mut world = World::new();
        let mut n = 0;
        while !world.code.guards.is_volatile(world.pc(0).0) {
            world.watch(0, 8);
            world.trace(0, 8, &[]);
            world.store(offset, n);
            n += 1;
        }
        n
    };
    assert!(stores(0x800) < stores(4));
}

#[test]
fn what_was_put_to_sleep_is_woken_with_its_links_gone() {
    let mut world = World::new();
    let (a, b) = (world.trace(0, 8, &[8]), world.trace(8, 8, &[0]));
    world.link(b, 0, a);
    assert_eq!(
        world.code.kill_made_from(world.pc(0).0, world.pc(8).0),
        [a.0]
    );
    let id = world
        .code
        .dormant(world.pc(0), CANONICAL)
        .expect("it sleeps");
    assert_eq!(world.code.fragment(id).source_hash(), {
        let source = world.app.read(world.pc(0).0, 8);
        ppin_persist::source_hash(&source)
    });
    world.code.wake(id);
    assert_eq!(world.code.known(world.pc(0), CANONICAL), Some(id));
    assert_eq!(world.leads(b, 0), None);
    world.link(b, 0, a);
    assert_eq!(
        world.code.kill_made_from(world.pc(7).0, world.pc(8).0),
        [a.0]
    );
    assert_eq!(world.leads(b, 0), None);
}

#[test]
fn what_the_kernel_writes_is_given_back_first() {
    let mut world = World::new();
    world.watch(0, 2 * PAGE);
    let a = world.trace(8, 8, &[]);
    assert_eq!(world.code.written(world.pc(0).0, world.pc(4).0), [a.0]);
    assert_eq!(world.code.guards.pages(), [world.pc(PAGE).0]);
    world.app.write(world.pc(0).0, &[7]);
    assert!(
        world
            .code
            .give_back(world.pc(0).0, world.pc(4).0)
            .is_empty()
    );
    let b = world.trace(PAGE, 8, &[]);
    assert_eq!(world.code.release_all(), [b.0]);
    assert!(world.code.guards.pages().is_empty());
}

#[test]
fn after_guards_are_given_up_pages_that_the_app_may_write_to_are_compared() {
    let mut world = World::new();
    world.watch(0, 8);
    let a = world.trace(0, 8, &[]);
    assert_eq!(world.code.give_up_guards(), [a.0]);
    world.watch(0, 8);
    assert!(world.code.guards.pages().is_empty());
    assert!(world.code.guards.is_volatile(world.pc(0).0));
}

#[test]
fn a_page_that_emitted_code_cannot_read_is_compared_by_the_vm() {
    let mut world = World::new();
    let (a, b) = (world.trace(0, 8, &[]), world.trace(PAGE, 8, &[]));
    let dead = world.code.unreadable(world.pc(2).0, world.pc(PAGE).0);
    assert_eq!(dead, [a.0, b.0]);
    let assumed = world.code.guards.assumed(world.pc(0).0, false);
    assert_eq!(assumed, Context::VOLATILE);
}

#[test]
fn memory_that_is_unmapped_takes_its_image_and_its_code_along() {
    let mut world = World::new();
    let a = world.trace(0, 8, &[]);
    let (start, end) = (world.app.start, world.app.start + world.app.len);
    assert_eq!(world.code.leaving(start, end), [world.image]);
    assert!(world.code.leaving(start, end - 1).is_empty());
    assert_eq!(world.code.gone(start, start + PAGE), [a.0]);
    assert!(world.code.has_code(start, end) && !world.code.has_code(start, start + PAGE));
    world.code.gone(start + PAGE, end);
    assert!(!world.code.has_code(start, end));
    assert!(world.code.images.region(world.pc(0)).is_none());
    let again = add(&mut world.code, &world.app);
    assert_ne!(again, world.image, "numbers are not used again");
}

#[test]
fn generated_code_is_parked_while_it_is_protected_anew() {
    let mut world = World::new();
    let (start, end) = (world.app.start, world.app.start + world.app.len);
    world.code.gone(start, end);
    let entry = world.app.region();
    let named = world.code.images.name(&entry, None, false);
    world.image = world.code.images.add(&entry, None, named);
    let a = world.trace(0, 8, &[]);
    assert_eq!(world.code.protected(start, end), [a.0]);
    assert!(world.code.has_code(start, end) && world.code.images.region(world.pc(0)).is_none());
    world.code.images.unpark(start, end, true);
    assert_eq!(world.region().image, world.image);
    assert!(world.code.dormant(world.pc(0), CANONICAL).is_some());
    assert!(world.fresh(a).code().hot.is_empty(), "it is not saved");
}

#[test]
fn traps_and_sequences_die_with_their_source() {
    let mut world = World::new();
    let trapped = world
        .install(trap(0, 1), Kind::Trap)
        .expect("there is room");
    let sequence = fragment(8, 8, &[], CANONICAL);
    let sequence = world
        .install(sequence, Kind::Sequence)
        .expect("there is room");
    assert_eq!(
        world.code.same_trap(world.pc(0), &trap(0, 1)),
        world.code.fresh_at(trapped.0)
    );
    let dead = world.code.kill_made_from(world.pc(0).0, world.pc(16).0);
    assert_eq!(dead, [trapped.0, sequence.0]);
    assert_eq!(world.code.same_trap(world.pc(0), &trap(0, 1)), None);
    assert_eq!(world.code.dormant(world.pc(8), CANONICAL), None);
}

#[test]
fn after_the_holder_of_the_lock_was_killed_nothing_is_held_or_found() {
    let mut world = World::new();
    world.watch(0, 8);
    let a = world.trace(0, 8, &[]);
    world.code.link_indirect(world.pc(0), a);
    world.code.start_over();
    assert_eq!(world.code.known(world.pc(0), CANONICAL), None);
    assert_eq!(world.code.found(world.pc(0).0), None);
    assert!(world.code.guards.pages().is_empty());
    assert!(world.code.in_cache(a.0), "it may still run");
    assert_eq!(world.code.fragments(), 0);
}

#[test]
fn a_child_leaves_saving_to_its_parent() {
    let mut app = App::new(1);
    app.writable = false;
    let mut world = World::of(app, 1 << 20);
    world.trace(0, 8, &[]);
    let unsaved = |world: &World| world.code.unsaved(world.image, |_| true).count();
    assert_eq!(unsaved(&world), 1);
    world.code.leave_to_parent();
    assert_eq!(unsaved(&world), 0);
    world.trace(8, 8, &[]);
    assert_eq!(unsaved(&world), 1, "what it makes itself");
}
