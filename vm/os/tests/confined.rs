//! Calls of a confined process. The filters count for the whole process: one test, in a file of its
//! own.

use ppin_abi::area::Area;
use ppin_os::{Errno, Kernel, Permit, c, filter};
use ppin_seccomp::{Confinement, Filter, Insn, Rule};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Refuses each call `nr` with error `number`.
fn refusing(nr: u32, number: u32) -> Confinement {
    let insn = |code, jf, k| Insn { code, jt: 0, jf, k };
    let program = [
        insn(0x20, 0, 0),
        insn(0x15, 1, nr),
        insn(0x06, 0, 0x0005_0000 | number),
        insn(0x06, 0, 0x7fff_0000),
    ];
    let filter = Filter::new(&program).expect("a filter that the kernel takes");
    Confinement::default().with(Rule::Filter(Arc::new(filter)))
}

fn thread(confinement: Option<Confinement>) -> Box<Area> {
    // SAFETY: integers only.
    let area: Box<Area> = Box::new(unsafe { core::mem::zeroed() });
    let address = confinement.map_or(0, filter::share);
    area.filters.store(address, Ordering::Release);
    area
}

/// What a call of the VM with this number returns.
fn close() -> isize {
    // SAFETY: there is no such descriptor.
    unsafe { ppin_os::raw(c::__NR_close, [usize::MAX; 6]) }
}

#[test]
fn calls_are_made_as_the_filters_of_the_threads_say() {
    let free = thread(None);
    let confined = thread(Some(refusing(c::__NR_close, 13)));
    let sleepless = thread(Some(refusing(c::__NR_futex, 1)));
    assert!(!filter::update([&*free].into_iter()));
    assert!(!filter::any() && Kernel::of_this_thread().allows(c::__NR_close));
    assert_eq!(close(), Errno::EBADF.raw());

    assert!(!filter::update([&*confined, &*confined].into_iter()));
    assert_eq!(close(), Errno::EACCES.raw(), "not made");
    let permit = Permit::despite_filters(c::__NR_close, [usize::MAX; 6]);
    // SAFETY: there is no such descriptor.
    assert_eq!(unsafe { permit.execute() }, Errno::EBADF.raw());

    // The running thread is none of these, so what any of them may not do is not done.
    assert!(!filter::update([&*free, &*confined].into_iter()));
    assert_eq!(close(), Errno::EACCES.raw());
    assert!(filter::update([&*confined, &*sleepless].into_iter()));
    assert!(filter::nobody_wakes() && !Kernel::of_this_thread().allows(c::__NR_futex));

    assert!(!filter::update([&*free].into_iter()));
    assert_eq!(close(), Errno::EBADF.raw());
}
