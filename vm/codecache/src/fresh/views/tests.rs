use super::*;
use crate::testing::App;
use alloc::vec::Vec;
use core::slice::from_ref;

const LEN: u64 = 4 * mem::PAGE;

/// Views of a place far below the app.
fn views(app: &App, make: fn(u64, u64) -> Result<Views>) -> Views {
    make(app.start - (1 << 30), LEN).expect("nothing is there")
}

fn put(views: &mut Views, offset: u64, byte: u8) {
    let at = views.exec + offset;
    let used = views.exec..views.exec + LEN;
    let to = views
        .writable(at, from_ref(&used))
        .expect("there is memory");
    // SAFETY: the view for writing.
    unsafe { (to as *mut u8).write_volatile(byte) };
}

fn got(views: &Views, offset: u64) -> u8 {
    // SAFETY: the view that is executed can be read.
    unsafe { ((views.exec + offset) as *const u8).read_volatile() }
}

fn rights(addr: u64) -> Vec<(bool, bool)> {
    let maps = ppin_os::maps::read().expect("the kernel's list");
    let here = maps.iter().filter(|m| (m.start..m.end).contains(&addr));
    here.map(|m| (m.writable, m.executable)).collect()
}

#[test]
fn what_is_written_is_executed_elsewhere_and_no_page_is_both() {
    let app = App::new(1);
    let mut views = views(&app, Views::at);
    assert_ne!(views.write, views.exec);
    put(&mut views, 5, 7);
    assert_eq!(got(&views, 5), 7);
    assert_eq!(rights(views.exec), [(false, true)]);
    assert_eq!(rights(views.write), [(true, false)]);
    views.free();
    assert_eq!(
        (rights(views.exec), rights(views.write)),
        (Vec::new(), Vec::new())
    );
}

#[test]
fn sealed_memory_is_left_to_the_other_process_at_the_first_write() {
    let app = App::new(1);
    let mut views = views(&app, Views::at);
    put(&mut views, 0, 1);
    put(&mut views, LEN - 1, 2);
    // What the other process has of it.
    let other = second(views.exec, LEN).expect("a third view");
    views.seal();
    assert!(views.is_sealed());
    put(&mut views, 0, 3);
    assert!(!views.is_sealed());
    assert_eq!((got(&views, 0), got(&views, LEN - 1)), (3, 2));
    // SAFETY: mapped above.
    assert_eq!(unsafe { (other as *const u8).read_volatile() }, 1);
    // SAFETY: nobody uses it any more.
    unsafe { mem::unmap(other, LEN) }.expect("mapped");
    views.free();
}

#[test]
fn only_what_is_used_is_copied() {
    let app = App::new(1);
    let mut views = views(&app, Views::at);
    put(&mut views, 0, 1);
    put(&mut views, 2 * mem::PAGE, 2);
    views.seal();
    let used = views.exec..views.exec + mem::PAGE;
    views
        .writable(views.exec, from_ref(&used))
        .expect("there is memory");
    assert_eq!((got(&views, 0), got(&views, 2 * mem::PAGE)), (1, 0));
    views.free();
}

#[test]
fn private_memory_is_never_sealed() {
    let app = App::new(1);
    let mut views = views(&app, Views::private_at);
    views.seal();
    assert!(!views.is_sealed());
    put(&mut views, 9, 4);
    assert_eq!((got(&views, 9), views.write), (4, views.exec));
    views.free();
}

#[test]
fn two_views_become_one_with_the_same_bytes() {
    let app = App::new(1);
    let mut views = views(&app, Views::at);
    put(&mut views, 3, 8);
    let (exec, used) = (views.exec, views.exec..views.exec + LEN);
    views.unify(from_ref(&used)).expect("the kernel allows it");
    assert_eq!((got(&views, 3), views.write, views.exec), (8, exec, exec));
    assert_eq!(rights(exec), [(true, true)]);
    // Once is enough.
    views.unify(from_ref(&used)).expect("nothing is to be done");
    views.free();
}

#[test]
fn a_place_that_is_taken_is_not_disturbed() {
    let app = App::new(1);
    let before = app.read(app.start, 8);
    for make in [Views::at, Views::private_at] {
        assert_eq!(make(app.start, LEN).err(), Some(Errno::EEXIST));
    }
    assert_eq!(app.read(app.start, 8), before);
}
