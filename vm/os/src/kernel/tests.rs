use super::*;
use crate::{c, proc};
use alloc::boxed::Box;
use alloc::sync::Arc;
use ppin_seccomp::{Filter, Insn, Rule};

const ALLOW: u32 = 0x7fff_0000;
const ERROR: u32 = 0x0005_0000;
const TRAP: u32 = 0x0003_0000;

/// The kernel under a filter that answers `value` to call `nr` with `first` as its first argument,
/// and allows all else.
fn refusing(nr: u32, first: u32, value: u32) -> Kernel {
    let insn = |code, k| Insn {
        code,
        k,
        ..Insn::default()
    };
    let unless_equal = |k, jf| Insn {
        code: 0x15,
        jt: 0,
        jf,
        k,
    };
    let program = [
        insn(0x20, 0),
        unless_equal(nr, 3),
        insn(0x20, 16),
        unless_equal(first, 1),
        insn(0x06, value),
        insn(0x06, ALLOW),
    ];
    let filter = Filter::new(&program).expect("a filter that the kernel takes");
    let confinement = Confinement::default().with(Rule::Filter(Arc::new(filter)));
    Kernel {
        filters: Some(Box::leak(Box::new(confinement))),
    }
}

#[test]
fn without_filters_every_call_is_permitted() {
    let free = Kernel { filters: None };
    assert!((0..500).all(|nr| free.allows(nr)));
}

#[test]
fn a_filter_judges_number_and_arguments() {
    let kernel = refusing(c::__NR_close, 2, ERROR | 13);
    let close = |fd| kernel.permit(c::__NR_close, [fd, 0, 0, 0, 0, 0]);
    assert_eq!(close(2).err(), Some(Errno::EACCES));
    assert!(close(3).is_ok());
    assert!(kernel.permit(c::__NR_dup, [2; 6]).is_ok());
    assert!(kernel.allows(c::__NR_close), "with 0 as its argument");
}

#[test]
fn a_call_that_would_do_more_than_fail_is_unknown() {
    for value in [TRAP, 0, 0x7ff0_0000] {
        let kernel = refusing(c::__NR_close, 0, value);
        let refused = kernel.permit(c::__NR_close, [0; 6]);
        assert_eq!(refused.err(), Some(Errno::ENOSYS), "{value:#x}");
        assert!(!kernel.allows(c::__NR_close));
    }
}

#[test]
fn a_permit_is_for_the_call_that_was_judged() {
    let kernel = refusing(c::__NR_close, 2, ERROR | 13);
    let args = [7, 1, 2, 3, 4, 5];
    let permit = kernel.permit(c::__NR_close, args).expect("allowed");
    assert_eq!((permit.nr, permit.args), (c::__NR_close, args));
}

#[test]
fn what_is_executed_is_what_the_permit_is_for() {
    let pid = Permit::for_the_app(c::__NR_getpid, [0; 6]);
    // SAFETY: no arguments.
    assert_eq!(unsafe { pid.execute() }, proc::pid() as isize);
    let none = Permit::despite_filters(c::__NR_close, [usize::MAX; 6]);
    // SAFETY: there is no such descriptor.
    assert_eq!(unsafe { none.execute() }, Errno::EBADF.raw());
}
