//! What stays with inserted code is right, and the checker finds what is missing.

use super::super::check::check;
use super::super::tests::{Piece, insert, piece, read};
use super::*;
use crate::{Cell, Need, Width};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use proptest::prelude::*;

/// push rbx; mov rax, rcx; mov rcx, [rdi]; pop rdx; add r8, r9; lea rsi, [rax]; mov bl, 1
const CODE: [u8; 20] = [
    0x53, 0x48, 0x89, 0xc8, 0x48, 0x8b, 0x0f, 0x5a, 0x4d, 0x01, 0xc8, 0x48, 0x8d, 0x30, 0xb3, 1,
    0x90, 0x90, 0x90, 0x90,
];
const INSTRUCTIONS: usize = 7;

/// Each piece before an instruction of [`CODE`].
fn form(pieces: &[(Piece, u8)]) -> Form {
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, pieces.len());
    for (piece, number) in pieces {
        let ins = InsId(u16::from(*number) % INSTRUCTIONS as u16);
        form.push(Op::Begin { ins, block: false });
        insert(&mut form, piece, false);
        form.push(Op::Itself { repeatable: true });
        form.push(Op::App { ins });
    }
    let (ins, context) = (InsId(0), Context::CANONICAL);
    form.push(Op::ExitNext { ins, context });
    form
}

/// Operations of `form` that bring values back, or say that they are lost.
fn returning(form: &Form) -> Vec<usize> {
    let back = |op: &Op| matches!(op, Op::Fill { .. } | Op::Lost { .. });
    let ops = form.ops.iter().enumerate();
    ops.filter(|(_, op)| back(op)).map(|(at, _)| at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_allocation_is_right(
        pieces in proptest::collection::vec((piece(), any::<u8>()), 1..8),
    ) {
        let ins = read(&CODE);
        let (mut one, mut other) = (form(&pieces), form(&pieces));
        let allocation = allocate_keeping(&mut one, &ins);
        prop_assert_eq!(check(&one, &ins, &allocation, &mut 0), Ok(()));
        allocate_keeping(&mut other, &ins);
        prop_assert_eq!(one.ops, other.ops, "nothing is chosen by chance");
    }

    #[test]
    fn what_does_not_come_back_is_found(
        pieces in proptest::collection::vec((piece(), any::<u8>()), 1..6),
        which in any::<prop::sample::Index>(),
    ) {
        let ins = read(&CODE);
        let mut form = form(&pieces);
        let allocation = allocate_keeping(&mut form, &ins);
        let returning = returning(&form);
        if !returning.is_empty() {
            form.ops.remove(returning[which.index(returning.len())]);
            prop_assert!(check(&form, &ins, &allocation, &mut 0).is_err());
        }
    }
}

/// A value of rcx before each of the instructions.
fn around(numbers: &[u16]) -> Form {
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, numbers.len());
    for number in numbers {
        let ins = InsId(*number);
        form.push(Op::Begin { ins, block: false });
        let [temp] = form.take([Need::fixed(Gpr::RCX)]);
        let (to, value, width) = (temp.into(), 1, Width::W64);
        form.push(Op::Set { to, value, width });
        form.give(&[temp]);
        form.push(Op::App { ins });
    }
    let (ins, context) = (InsId(0), Context::CANONICAL);
    form.push(Op::ExitNext { ins, context });
    form
}

fn fills(form: &Form) -> usize {
    let ops = form.ops.iter();
    ops.filter(|op| matches!(op, Op::Fill { .. })).count()
}

#[test]
fn a_register_comes_back_once_if_nobody_touches_it() {
    let ins = read(&CODE);
    // push rbx, three times
    let mut form = around(&[0, 0, 0]);
    allocate_keeping(&mut form, &ins);
    assert_eq!(fills(&form), 1);
    let [.., fill, exit] = &form.ops[..] else {
        panic!()
    };
    assert!(matches!(fill, Op::Fill { .. }) && exit.is_exit());
}

#[test]
fn what_can_do_with_any_takes_one_that_stays() {
    let ins = read(&CODE);
    let register = |need: Need| {
        let mut form = around(&[0]);
        let exit = form.ops.pop().expect("the exit");
        let (ins_id, width) = (InsId(0), Width::W64);
        form.push(Op::Begin {
            ins: ins_id,
            block: false,
        });
        let [temp] = form.take([need]);
        let (to, value) = (temp.into(), 1);
        form.push(Op::Set { to, value, width });
        form.give(&[temp]);
        form.push(Op::App { ins: ins_id });
        form.push(exit);
        let allocation = allocate_keeping(&mut form, &ins);
        assert_eq!(check(&form, &ins, &allocation, &mut 0), Ok(()));
        allocation.register(temp)
    };
    let need = Need::fixed(Gpr::R11);
    assert_eq!(register(need), Gpr::R11);
    let need = Need::one_of(RegSet::of(&[Gpr::R11, Gpr::R10])).or_kept();
    assert_eq!(register(need), Gpr::RCX);
}

/// Two loads of one cell, of which the first may go another way and come back behind it.
fn loads_around_a_label() -> Form {
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
    let (cell, width) = (Cell::at(0x100), Width::W64);
    let need = || [Need::one_of(RegSet::of(&[Gpr::RSI, Gpr::RDI]))];
    let (done, cold) = (form.label(), form.label());
    let [temp] = form.take(need());
    let to = temp.into();
    form.push(Op::LoadCell { to, cell, width });
    form.push(Op::IfFlags {
        condition: 4,
        to: cold,
    });
    form.give(&[temp]);
    form.place(done, &[]);
    let [again] = form.take(need());
    let to = again.into();
    form.push(Op::LoadCell { to, cell, width });
    form.give(&[again]);
    let (ins, context) = (InsId(0), Context::CANONICAL);
    form.push(Op::ExitNext { ins, context });
    form.aside(ins, |form| {
        form.place(cold, &[temp]);
        form.give(&[temp]);
        form.push(Op::GotoBack { to: done });
    });
    form.append_tail();
    form
}

#[test]
fn a_cell_is_loaded_once_and_again_where_a_branch_comes_back() {
    let ins = read(&CODE);
    let mut form = loads_around_a_label();
    let allocation = allocate_keeping(&mut form, &ins);
    assert_eq!(check(&form, &ins, &allocation, &mut 0), Ok(()));
    let loads = form
        .ops
        .iter()
        .filter(|op| matches!(op, Op::LoadCell { .. }));
    assert_eq!(loads.count(), 1);
    let again = |op: &Op| matches!(op, Op::HoldAgain { .. });
    let at = form
        .ops
        .iter()
        .position(again)
        .expect("behind the cold way");
    form.ops.remove(at);
    assert!(check(&form, &ins, &allocation, &mut 0).is_err());
}

/// A register that the app overwrites next may be taken without being kept; what it has then is held by
/// nobody, least of all where a branch comes back.
#[test]
fn a_register_that_the_app_is_about_to_overwrite_holds_nothing() {
    // mov rax, rcx
    let (ins, overwrites) = (read(&CODE), InsId(1));
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
    let (cell, width) = (Cell::at(0x100), Width::W64);
    let (done, cold) = (form.label(), form.label());
    let free = RegSet::of(&[Gpr::RAX]);
    let [count] = form.take([Need::one_of(free).or_free(free)]);
    let (to, from) = (count.into(), count.into());
    form.push(Op::LoadCell { to, cell, width });
    form.push(Op::StoreCell { cell, from, width });
    form.give(&[count]);
    form.push(Op::App { ins: overwrites });
    let [temp] = form.take([Need::fixed(Gpr::RSI)]);
    form.push(Op::IfFlags {
        condition: 4,
        to: cold,
    });
    form.give(&[temp]);
    form.place(done, &[]);
    let context = Context::CANONICAL;
    form.push(Op::ExitNext {
        ins: overwrites,
        context,
    });
    form.aside(overwrites, |form| {
        form.place(cold, &[temp]);
        form.give(&[temp]);
        form.push(Op::GotoBack { to: done });
    });
    form.append_tail();
    let allocation = allocate_keeping(&mut form, &ins);
    assert_eq!(check(&form, &ins, &allocation, &mut 0), Ok(()));
    let holds = |op: &Op| matches!(op, Op::HoldAgain { .. } | Op::StillHolds { .. });
    assert!(!form.ops.iter().any(holds));
}

#[test]
fn what_is_read_comes_back_and_what_is_overwritten_does_not() {
    let ins = read(&CODE);
    // mov rax, rcx; push rbx
    let mut form = around(&[1, 0]);
    allocate_keeping(&mut form, &ins);
    assert_eq!(fills(&form), 2);
    // mov rcx, [rdi]
    let mut form = around(&[2]);
    allocate_keeping(&mut form, &ins);
    assert_eq!((fills(&form), returning(&form).len()), (0, 1));
}

#[test]
fn a_branch_out_of_the_trace_brings_all_back_aside_unless_it_is_the_last() {
    // je; push rbx
    let ins = read(&[0x74, 2, 0x53]);
    let context = Context::CANONICAL;
    for last in [false, true] {
        let mut form = around(&[]);
        form.ops.clear();
        let [temp] = form.take([Need::fixed(Gpr::RCX)]);
        let (to, value, width) = (temp.into(), 1, Width::W64);
        form.push(Op::Set { to, value, width });
        form.give(&[temp]);
        let branch = InsId(0);
        form.push(Op::ExitIf {
            ins: branch,
            context,
        });
        if !last {
            form.push(Op::App { ins: InsId(1) });
        }
        form.push(Op::ExitNext {
            ins: InsId(1),
            context,
        });
        let allocation = allocate_keeping(&mut form, &ins);
        assert_eq!(check(&form, &ins, &allocation, &mut 0), Ok(()));
        let aside = matches!(form.ops.last(), Some(Op::ExitTaken { .. }));
        assert_eq!(aside, !last);
        assert_eq!(fills(&form), if last { 1 } else { 2 });
    }
}

#[test]
fn code_that_stands_aside_brings_what_is_kept_where_it_goes_back_to() {
    let ins = read(&CODE);
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 2);
    let aside = form.label();
    let done = form.label();
    let ins_id = InsId(0);
    form.push(Op::Begin {
        ins: ins_id,
        block: false,
    });
    let [temp] = form.take([Need::fixed(Gpr::RCX)]);
    form.push(Op::Set {
        to: temp.into(),
        value: 1,
        width: Width::W64,
    });
    form.push(Op::IfZero { temp, to: aside });
    form.give(&[temp]);
    form.place(done, &[]);
    form.push(Op::App { ins: ins_id });
    form.push(Op::ExitNext {
        ins: ins_id,
        context: Context::CANONICAL,
    });
    form.place(aside, &[temp]);
    form.give(&[temp]);
    let [other] = form.take([Need::fixed(Gpr::RCX)]);
    form.push(Op::Set {
        to: other.into(),
        value: 2,
        width: Width::W64,
    });
    form.give(&[other]);
    form.push(Op::GotoBack { to: done });
    let allocation = allocate_keeping(&mut form, &ins);
    assert_eq!(check(&form, &ins, &allocation, &mut 0), Ok(()));
    assert_eq!(fills(&form), 1, "before the exit");
}
