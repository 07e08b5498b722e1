//! Allocations of any form are right, and the checker finds those that are not.

use super::check::check;
use super::*;
use crate::{Cell, InsId, Record, Reg, SequenceSlots, Width};
use ppin_abi::addr::AppPc;
use ppin_abi::area::Entry;
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_abi::record::Trap;
use ppin_decode::{Ins, InsReader};
use proptest::prelude::*;

pub(super) fn read(bytes: &[u8]) -> Vec<Ins> {
    let mut reader = InsReader::new(AppPc(0x1000), bytes);
    core::iter::from_fn(|| reader.read().ok()).collect()
}

fn right(form: &Form, ins: &[Ins], allocation: &Allocation) -> bool {
    check(form, ins, allocation, &mut 0).is_ok()
}

/// A piece of inserted code: what its temporaries need, and what is done with them.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    needs: Vec<Option<u8>>,
    steps: Vec<(u8, u8, u8)>,
    /// Another piece in its middle.
    inner: Option<u8>,
}

/// In place of a fixed register: one that compiled code uses little, or any one that stays with inserted code.
const BORROWED: u8 = 16;

pub(super) fn piece() -> impl Strategy<Value = Piece> {
    // Fixed registers are few and different; others get what is left.
    let needs = prop_oneof![
        4 => proptest::collection::vec(Just(None), 1..4),
        1 => Just(vec![Some(1), None]),
        1 => Just(vec![Some(0), Some(1), None]),
        1 => Just(vec![Some(2)]),
        1 => Just(vec![Some(BORROWED), None]),
    ];
    let steps = proptest::collection::vec((0..8u8, any::<u8>(), any::<u8>()), 1..10);
    let inner = proptest::option::of(prop_oneof![Just(12u8), Just(13)]);
    (needs, steps, inner).prop_map(|(needs, steps, inner)| Piece {
        needs,
        steps,
        inner,
    })
}

/// A form of these pieces, each before an instruction of `count`.
fn form(pieces: &[Piece], sequence: bool) -> Form {
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, pieces.len());
    form.sequence = sequence.then_some(SequenceSlots {
        descriptor: 0,
        expected: 0,
        protected: false,
    });
    for (number, piece) in pieces.iter().enumerate() {
        let ins = InsId(number as u16 % 2);
        form.push(Op::Begin { ins, block: false });
        insert(&mut form, piece, sequence);
        form.push(Op::App { ins });
    }
    form.push(Op::Begin {
        ins: InsId(0),
        block: false,
    });
    form
}

pub(super) fn insert(form: &mut Form, piece: &Piece, sequence: bool) {
    let need = |fixed: Option<u8>| match fixed {
        // (In a sequence only registers with a home will do.)
        Some(BORROWED) if sequence => Need::one_of(RegSet::ANY),
        Some(BORROWED) => Need::one_of(RegSet::of(&[Gpr::R11, Gpr::R10])).or_kept(),
        Some(number) => Need::fixed(Gpr::new(number)),
        None => Need::one_of(RegSet::ANY),
    };
    let first = form.needs.len() as u16;
    for fixed in &piece.needs {
        form.needs.push(need(*fixed));
    }
    let len = piece.needs.len() as u16;
    let temps = Temps { first, len };
    form.push(Op::Take { temps });
    for temp in temps.iter() {
        let (to, slot) = (temp.into(), 0);
        form.push(Op::LoadSlot { to, slot });
    }
    for (at, step) in piece.steps.iter().enumerate() {
        form.push(operation(temps, *step));
        if let Some(number) = piece.inner.filter(|_| at == 0 && !sequence) {
            let [inner] = form.take([need(Some(number))]);
            let (to, slot) = (inner.into(), 0);
            form.push(Op::LoadSlot { to, slot });
            form.give(&[inner]);
        }
    }
    // All values are needed to the end.
    for temp in temps.iter() {
        let (cell, from, width) = (Cell::at(8), temp.into(), Width::W64);
        form.push(Op::StoreCell { cell, from, width });
    }
    form.push(Op::Give { temps });
}

fn operation(temps: Temps, (kind, a, b): (u8, u8, u8)) -> Op {
    let temp = |n: u8| Temp(temps.first + u16::from(n) % temps.len);
    // Registers that no piece takes for certain, so that they can be named.
    let app = |n: u8| Reg::App(Gpr::new([3, 6, 7, 8, 9, 4][usize::from(n) % 6]));
    let (to, other) = (Reg::Temp(temp(a)), Reg::Temp(temp(b)));
    let width = Width::W64;
    let base = Some(temp(a));
    match kind {
        0 => Op::Move { to, from: app(b) },
        1 => Op::Lea {
            to,
            base: app(a),
            index: Some(other),
            disp: 4,
        },
        2 => Op::Load { to, base: other },
        3 => Op::LoadCell {
            to,
            cell: Cell { base, disp: 8 },
            width,
        },
        4 => Op::StoreCell {
            cell: Cell::at(8),
            from: app(a),
            width,
        },
        5 => Op::Swap { one: to, other },
        6 => Op::Set {
            to,
            value: 1,
            width,
        },
        _ => Op::Move { to, from: other },
    }
}

/// The homes, one of them changed.
fn with(allocation: &Allocation, temps: usize, changed: usize, home: Home) -> Allocation {
    let mut homes = Few::new(NOWHERE);
    for number in 0..temps {
        let kept = allocation.home(Temp(number as u16));
        homes.push(if number == changed { home } else { kept });
    }
    Allocation(homes)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_allocation_is_right(
        pieces in proptest::collection::vec(piece(), 1..6),
        sequence in any::<bool>(),
    ) {
        // push rbx; mov rax, rcx
        let ins = read(&[0x53, 0x48, 0x89, 0xc8]);
        let form = form(&pieces, sequence);
        let allocation = allocate(&form);
        let again = allocate(&form);
        prop_assert_eq!(check(&form, &ins, &allocation, &mut 0), Ok(()));
        for temp in (0..form.needs.len() as u16).map(Temp) {
            prop_assert_eq!(allocation.home(temp), again.home(temp));
        }
    }

    /// A register or a slot is exchanged for one that cannot do.
    #[test]
    fn what_is_wrong_is_found(piece in piece(), which in any::<u16>(), how in 0..4u8) {
        let ins = read(&[0x53, 0x48, 0x89, 0xc8]);
        let form = form(&[Piece { inner: None, ..piece }], false);
        let (allocation, temps) = (allocate(&form), form.needs.len());
        let changed = usize::from(which) % temps;
        let home = allocation.home(Temp(changed as u16));
        let other = allocation.home(Temp(((changed + 1) % temps) as u16));
        let home = match how {
            // Not kept.
            0 => Home { kept: None, ..home },
            // Not a register that does.
            1 => Home { register: Gpr::RSP, ..home },
            // The register, or the slot, of another one that is alive.
            2 if temps > 1 => Home { register: other.register, ..home },
            3 if temps > 1 => Home { kept: other.kept, ..home },
            _ => return Ok(()),
        };
        let wrong = with(&allocation, temps, changed, home);
        prop_assert!(!right(&form, &ins, &wrong));
    }
}

/// One temporary, in `register`, around `ops`, before and behind an instruction.
fn around(register: Gpr, ops: &[Op]) -> Form {
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
    let [temp] = form.take([Need::fixed(register)]);
    let (to, slot) = (temp.into(), 0);
    form.push(Op::LoadSlot { to, slot });
    form.ops.extend_from_slice(ops);
    form.give(&[temp]);
    form
}

#[test]
fn an_instruction_that_touches_a_taken_register_is_found() {
    // mov [rdi], rcx; mov ecx, eax
    let ins = read(&[0x48, 0x89, 0x0f, 0x89, 0xc1]);
    for number in [0, 1] {
        let ins_id = InsId(number);
        for register in 0..8 {
            let form = around(Gpr::new(register), &[Op::App { ins: ins_id }]);
            let touched = [&[1, 7][..], &[0, 1]][usize::from(number)].contains(&register);
            let found = register == 4 || touched;
            let allocation = Allocation({
                let mut homes = Few::new(NOWHERE);
                homes.push(Home {
                    register: Gpr::new(register),
                    kept: SpillSlot::new(7),
                });
                homes
            });
            if register != 4 {
                assert_eq!(
                    right(&form, &ins, &allocation),
                    !found,
                    "{number} {register}"
                );
            }
        }
    }
}

#[test]
fn a_value_that_was_never_written_is_found() {
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
    let [temp] = form.take([Need::one_of(RegSet::ANY)]);
    let (cell, from, width) = (Cell::at(8), temp.into(), Width::W64);
    form.push(Op::StoreCell { cell, from, width });
    form.give(&[temp]);
    let allocation = allocate(&form);
    assert!(!right(&form, &[], &allocation));
}

#[test]
fn what_lives_on_is_found() {
    let ins = read(&[0x90]);
    let mut form = around(Gpr::RCX, &[]);
    assert!(right(&form, &ins, &allocate(&form)));
    form.ops.pop();
    assert!(!right(&form, &ins, &allocate(&form)));
    form.push(Op::ExitNext {
        ins: InsId(0),
        context: Context::CANONICAL,
    });
    assert!(!right(&form, &ins, &allocate(&form)));
}

#[test]
fn flags_that_are_destroyed_must_be_dead() {
    let add = |form: &mut Form| {
        let cell = Cell::at(0x100);
        form.push(Op::AddCell { cell, amount: 1 });
    };
    // cmp eax, ecx; then adc eax, eax
    let ins = read(&[0x39, 0xc8, 0x11, 0xc0]);
    for (number, fine) in [(0, true), (1, false)] {
        let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
        add(&mut form);
        form.push(Op::App { ins: InsId(number) });
        let (ins_id, context) = (InsId(number), Context::CANONICAL);
        form.push(Op::ExitNext {
            ins: ins_id,
            context,
        });
        assert_eq!(right(&form, &ins, &allocate(&form)), fine, "{number}");
    }
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
    add(&mut form);
    let mut lost = 0;
    check(&form, &ins, &allocate(&form), &mut lost).unwrap();
    assert_ne!(lost, 0, "for the form behind it");
}

#[test]
fn a_register_that_the_next_instruction_overwrites_need_not_be_kept() {
    // mov ecx, eax; add ecx, eax
    let ins = read(&[0x89, 0xc1, 0x01, 0xc1]);
    let free = RegSet::of(&[Gpr::RCX]);
    for (number, fine) in [(0, true), (1, false)] {
        let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
        let [temp] = form.take([Need::one_of(RegSet::ANY).or_free(free)]);
        let (to, slot) = (temp.into(), 0);
        form.push(Op::LoadSlot { to, slot });
        form.give(&[temp]);
        form.push(Op::App { ins: InsId(number) });
        let allocation = allocate(&form);
        assert_eq!(allocation.home(temp).kept, None);
        assert_eq!(right(&form, &ins, &allocation), fine, "{number}");
    }
}

#[test]
fn what_may_fault_shows_all_registers() {
    // mov rcx, [rax]
    let ins = read(&[0x48, 0x8b, 0x08]);
    let free = RegSet::of(&[Gpr::RCX]);
    for need in [Need::fixed(Gpr::RCX), Need::fixed(Gpr::RCX).or_free(free)] {
        let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
        let [temp] = form.take([need]);
        let (to, slot) = (temp.into(), 0);
        form.push(Op::LoadSlot { to, slot });
        form.give(&[temp]);
        form.push(Op::App { ins: InsId(0) });
        let kept = need.free == RegSet::NONE;
        assert_eq!(right(&form, &ins, &allocate(&form)), kept);
    }
}

#[test]
fn in_a_sequence_all_registers_are_kept_at_home() {
    let free = RegSet::of(&[Gpr::RCX]);
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
    form.sequence = Some(SequenceSlots {
        descriptor: 0,
        expected: 0,
        protected: true,
    });
    let needs = [Need::one_of(RegSet::ANY).or_free(free); 7];
    let temps = form.take(needs);
    form.give(&temps);
    let allocation = allocate(&form);
    for temp in temps {
        let home = allocation.home(temp);
        assert_eq!(home.kept, HOMES[usize::from(home.register.number())]);
    }
    let elsewhere = Home {
        kept: SpillSlot::new(7),
        ..allocation.home(temps[0])
    };
    assert!(right(&form, &[], &allocation));
    assert!(!right(&form, &[], &with(&allocation, 7, 0, elsewhere)));
}

#[test]
fn registers_without_a_home_lie_in_the_last_slot() {
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
    let temps = form.take([Need::one_of(RegSet::ANY); 8]);
    form.give(&temps);
    let allocation = allocate(&form);
    assert_eq!(allocation.home(temps[7]).register, Gpr::new(9));
    assert_eq!(allocation.home(temps[7]).kept, SpillSlot::new(7));
    assert!(right(&form, &[], &allocation));
}

#[test]
#[should_panic(expected = "no register for a temporary")]
fn more_than_there_are_slots_is_a_mistake() {
    let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
    let temps = form.take([Need::one_of(RegSet::ANY); 9]);
    form.give(&temps);
    let _ = allocate(&form);
}

#[test]
fn the_runtime_is_spoken_to_by_rcx_with_the_apps_at_home() {
    let trap = |register: Gpr| {
        let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
        let [record] = form.take([Need::fixed(register)]);
        let (pc, context) = (AppPc(0), Context::CANONICAL);
        let trap = Trap::Undecodable;
        form.record(record, Record::Trap { pc, trap, context });
        form.jump(Entry::LeaveTrap);
        form
    };
    let form = trap(Gpr::RCX);
    let allocation = allocate(&form);
    assert!(right(&form, &[], &allocation));
    let away = Home {
        kept: SpillSlot::new(7),
        ..allocation.home(Temp(0))
    };
    assert!(!right(&form, &[], &with(&allocation, 1, 0, away)));
    let form = trap(Gpr::RDX);
    assert!(!right(&form, &[], &allocate(&form)));
}

#[test]
fn branches_bring_what_lives_at_their_label() {
    let branch = |kept_over: bool| {
        let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
        let [temp] = form.take([Need::fixed(Gpr::RCX)]);
        let (to, slot) = (temp.into(), 0);
        form.push(Op::LoadSlot { to, slot });
        let label = form.label();
        if !kept_over {
            form.give(&[temp]);
            form.push(Op::Goto { to: label });
        }
        form.push(Op::IfZero { temp, to: label });
        form.push(Op::LoadSlot { to, slot });
        form.place(label, &[temp]);
        form.give(&[temp]);
        form
    };
    let form = branch(true);
    assert!(right(&form, &[], &allocate(&form)));
    let form = branch(false);
    assert!(!right(&form, &[], &allocate(&form)));
}

#[test]
fn a_jump_unless_one_leaves_with_what_the_runtime_reads() {
    let meant = |entry: Entry, behind_it: fn(&mut Form, [Temp; 2])| {
        let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
        let temps = form.arrived([Need::fixed(Gpr::RCX), Need::fixed(Gpr::RAX)], entry);
        let [temp, by] = temps;
        form.push(Op::HiddenJump { by, entry });
        form.push(Op::JumpUnlessOne { temp, entry });
        behind_it(&mut form, temps);
        form
    };
    let here = Entry::ArrivedElsewhere;
    let form = meant(here, |form, temps| form.give_by(temps[0], &temps));
    assert!(right(&form, &[], &allocate(&form)));
    let form = meant(here, |form, temps| {
        let (to, slot) = (temps[0].into(), 0);
        form.push(Op::LoadSlot { to, slot });
        form.give_by(temps[0], &temps);
    });
    assert!(!right(&form, &[], &allocate(&form)), "rcx is not 0");
    let behind_a_return = Entry::ReturnedElsewhere;
    let form = meant(behind_a_return, |form, temps| form.give(&temps));
    assert!(!right(&form, &[], &allocate(&form)), "rdx says nothing");
}

#[test]
fn what_is_put_back_by_a_zero_is_put_back_while_it_is_one() {
    let compared = |order: [usize; 2]| {
        let mut form = Form::new(Context::CANONICAL, Optimize::ALL, 1);
        let [temp] = form.take([Need::fixed(Gpr::RCX)]);
        let [other] = form.take([Need::fixed(Gpr::RAX)]);
        let slot = 0;
        form.push(Op::LoadSlot {
            to: temp.into(),
            slot,
        });
        form.push(Op::LoadPrediction { to: other.into() });
        let elsewhere = form.label();
        form.push(Op::UnlessOne {
            temp,
            to: elsewhere,
        });
        for n in order {
            form.give_by(temp, &[[temp, other][n]]);
        }
        form.push(Op::JumpPredicted);
        form.place(elsewhere, &[temp, other]);
        form.jump(Entry::Mispredicted);
        form
    };
    let form = compared([1, 0]);
    assert!(right(&form, &[], &allocate(&form)));
    let form = compared([0, 1]);
    assert!(!right(&form, &[], &allocate(&form)), "rcx is the app's");
}
