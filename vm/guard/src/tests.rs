use super::*;
use alloc::vec::Vec;
use ppin_os::place;

/// Memory that stands for the app's: code that it may write to.
struct App {
    start: u64,
}

impl App {
    fn new(pages: u64) -> Self {
        // No handler of ours meets faults here.
        peek::never_fault();
        let start = place::anywhere(pages * PAGE, mem::RWX).expect("there is memory");
        Self { start }
    }
}

/// The moment when a test begins.
const NOW: Ticks = 1 << 40;
/// Longer than any page is volatile.
const AGES: Ticks = 1 << 36;

/// Whether the app can write to the page of `at`.
fn is_writable(at: u64) -> bool {
    let maps = ppin_os::maps::read().expect("the kernel's list");
    let here = maps.iter().find(|m| (m.start..m.end).contains(&at));
    here.expect("it is mapped").writable
}

fn guarded(guards: &Guards) -> Vec<u64> {
    guards.pages()
}

#[test]
fn pages_of_the_source_are_held_until_one_is_given_back() {
    let (app, mut guards) = (App::new(4), Guards::default());
    let last = app.start + PAGE;
    guards.protect(app.start + PAGE - 4, 8, false, NOW);
    assert_eq!(guarded(&guards), [app.start, last]);
    assert!(!is_writable(app.start) && !is_writable(last) && is_writable(last + PAGE));
    assert_eq!(guards.release(last + 9, Store::ToCode, NOW), Some(last));
    assert!(is_writable(last) && !is_writable(app.start));
    assert_eq!(guarded(&guards), [app.start]);
    assert!(guards.holds(app.start) && !guards.holds(last));
    assert_eq!(guards.release(last, Store::ToCode, NOW), None, "no more");
    assert_eq!(guards.span(), Some((app.start, last + PAGE)));
}

#[test]
fn code_that_writes_to_its_own_page_makes_it_volatile_and_it_comes_back() {
    let (app, mut guards) = (App::new(1), Guards::default());
    guards.protect(app.start, 8, false, NOW);
    guards.release(app.start, Store::FromHere, NOW);
    assert!(guards.is_volatile(app.start));
    guards.protect(app.start, 8, false, NOW);
    assert!(!guards.holds(app.start), "it compares itself");
    assert_eq!(guards.come_back(app.start, NOW + 1).count(), 0);
    let back: Vec<u64> = guards.come_back(app.start, NOW + AGES).collect();
    assert_eq!(
        (back, guards.is_volatile(app.start)),
        (alloc::vec![app.start], false)
    );
    guards.protect(app.start, 8, false, NOW + AGES);
    assert!(guards.holds(app.start));
}

#[test]
fn an_instruction_across_two_pages_is_volatile_with_either() {
    let (app, mut guards) = (App::new(3), Guards::default());
    let second = app.start + PAGE;
    guards.protect(app.start, 2 * PAGE, false, NOW);
    guards.release(second, Store::FromHere, NOW);
    assert!(guards.is_volatile(second - 1) && guards.is_volatile(second - 14));
    assert!(!guards.is_volatile(second - 15));
    assert_eq!(guards.steady(app.start + 8, PAGE), PAGE - 8);
    assert_eq!(guards.steady(app.start, PAGE), PAGE);
}

#[test]
fn what_is_assumed_says_who_compares_and_for_how_long() {
    let (app, mut guards) = (App::new(2), Guards::default());
    let compared = Context::VOLATILE.with(Context::COMPARED);
    guards.protect(app.start, 8, false, NOW);
    guards.release(app.start, Store::FromHere, NOW);
    let assumed = |guards: &Guards, shared| guards.assumed(app.start, shared);
    assert_eq!(assumed(&guards, false), compared.with(Context::PROVISIONAL));
    assert_eq!(assumed(&guards, true), compared);
    guards.is_unreadable(app.start);
    assert_eq!(assumed(&guards, false), Context::VOLATILE);
    // What the kernel writes to at any moment is never guarded.
    guards.protect(app.start + PAGE, 8, true, NOW);
    assert_eq!(guards.assumed(app.start + PAGE, false), compared);
    assert_eq!(guards.come_back(app.start + PAGE, NOW + AGES).count(), 0);
}

#[test]
fn the_vm_compares_a_trace_that_may_store_to_itself_and_no_other() {
    let (app, mut guards) = (App::new(2), Guards::default());
    guards.protect(app.start, 8, false, NOW);
    guards.release(app.start, Store::FromHere, NOW);
    guards.is_near(app.start + 16);
    assert_eq!(guards.assumed(app.start + 16, false), Context::VOLATILE);
    assert!(
        guards
            .assumed(app.start + 17, false)
            .contains(Context::COMPARED)
    );
    guards.forget(app.start, app.start + PAGE);
    assert!(
        guards
            .assumed(app.start + 16, true)
            .contains(Context::COMPARED)
    );
}

#[test]
fn what_the_app_maps_anew_is_forgotten_and_a_late_store_repeated_once() {
    let (app, mut guards) = (App::new(2), Guards::default());
    guards.protect(app.start, 2 * PAGE, false, NOW);
    guards.forget(app.start, app.start + PAGE);
    assert!(is_writable(app.start));
    assert_eq!(guarded(&guards), [app.start + PAGE]);
    assert!(guards.was_lifted(app.start + 5));
    assert!(!guards.was_lifted(app.start + 5));
}

#[test]
fn a_store_that_met_a_guard_which_another_thread_has_lifted_is_repeated() {
    let (app, mut guards) = (App::new(1), Guards::default());
    guards.protect(app.start, 8, false, NOW);
    guards.release(app.start, Store::Beside, NOW);
    assert!(guards.was_lifted(app.start) && guards.was_lifted(app.start));
    assert!(
        !guards.was_lifted(app.start + PAGE),
        "a page that nobody knows"
    );
}

#[test]
fn guards_that_cannot_be_set_any_more_are_not_set() {
    let (app, mut guards) = (App::new(2), Guards::default());
    guards.protect(app.start, 8, false, NOW);
    guards.give_up();
    guards.protect(app.start + PAGE, 8, false, NOW);
    assert_eq!(guarded(&guards), [app.start], "it stands");
    assert!(guards.is_volatile(app.start + PAGE) && is_writable(app.start + PAGE));
}

#[test]
fn memory_that_cannot_be_protected_is_volatile_for_good() {
    let (app, mut guards) = (App::new(1), Guards::default());
    let nowhere = app.start + (1 << 31);
    guards.protect(nowhere, 8, false, NOW);
    assert!(guards.is_volatile(nowhere) && guarded(&guards).is_empty());
    assert_eq!(guards.come_back(nowhere, NOW + AGES).count(), 0);
}

#[test]
fn in_doubt_every_page_that_is_known_is_given_back() {
    let (app, mut guards) = (App::new(2), Guards::default());
    guards.protect(app.start, 2 * PAGE, false, NOW);
    guards.release(app.start, Store::ToCode, NOW);
    guards.doubt();
    assert_eq!(guarded(&guards), [app.start, app.start + PAGE]);
    for page in guarded(&guards) {
        guards.release(page, Store::ToCode, NOW);
    }
    assert!(is_writable(app.start) && is_writable(app.start + PAGE));
}
