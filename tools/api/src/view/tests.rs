//! Views of instructions that are made up.

use super::{Limits, Trace};
use crate::compiler::{CallInsertion, Destination, Source, Value};
use crate::insert::{Arg, Counter, IPoint, MAX_AMOUNT, Refused, RoutineId};
use crate::opcode::Opcode;
use crate::operand::{Access, Address, MemoryOperand};
use crate::register::Reg;
use crate::routine::Routine;
use crate::source::{Category, Predicate};
use crate::state::{Merge, State, StateId};
use ppin_abi::addr::{AppPc, ImageBase, ImageOff};
use proptest::prelude::*;

const IMAGE: ImageBase = ImageBase(0x10_0000);
const LIMITS: Limits = Limits {
    global_counters: 5,
    image_counters: 3,
    routines: &[
        Routine::with_host("one", |_| {}),
        Routine::of("two", &(two as extern "C" fn(_, _, _, _, _, _))),
        Routine::of("sums", &(sums as extern "C" fn(&mut u64, &mut u64, bool))),
        Routine::of("due", &(due as extern "C" fn(&mut u64, usize) -> bool)),
    ],
    states: &[
        State::of::<u64>("sum"),
        State::of::<u64>("other"),
        State::of::<i8>("small"),
    ],
    buffers: &[],
};

extern "C" fn two(_: u64, _: u64, _: u64, _: u64, _: usize, _: i64) {}

extern "C" fn due(_: &mut u64, _: usize) -> bool {
    true
}

extern "C" fn sums(_: &mut u64, _: &mut u64, _: bool) {}

impl Merge for u64 {
    fn merge(&mut self, _: &Self) {}
}

impl Merge for i8 {
    fn merge(&mut self, _: &Self) {}
}

/// Instructions of 4 bytes at 0x1000, all of which read one place; direct branches lead to 0x40.
struct Made(Vec<(Category, bool)>);

impl Source for Made {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn pc(&self, index: usize) -> AppPc {
        AppPc(IMAGE.0 + 0x1000 + 4 * index as u64)
    }

    fn len(&self, _index: usize) -> u32 {
        4
    }

    fn opcode(&self, _index: usize) -> Opcode {
        Opcode::from_index(7).unwrap()
    }

    fn category(&self, index: usize) -> Category {
        self.0[index].0
    }

    fn falls_through(&self, index: usize) -> bool {
        self.0[index].1
    }

    fn is_repeated(&self, _index: usize) -> bool {
        false
    }

    /// Of instructions that end no block, the third is masked, the second has another predicate.
    fn predicate(&self, index: usize) -> Predicate {
        match index {
            1 if self.0[1] == PLAIN => Predicate::Told,
            2 if self.0[2] == PLAIN => Predicate::Masked,
            _ => Predicate::None,
        }
    }

    fn target(&self, index: usize) -> Option<AppPc> {
        let direct = matches!(
            self.category(index),
            Category::Jump | Category::Call | Category::ConditionalBranch
        );
        direct.then_some(AppPc(IMAGE.0 + 0x40))
    }

    fn memory_operands(&self, _index: usize) -> Vec<MemoryOperand> {
        let operand = |address| MemoryOperand {
            access: Access::Read,
            size: 8,
            conditional: false,
            address,
        };
        [operand(Some(Address::Image(ImageOff(5)))), operand(None)].into()
    }
}

const PLAIN: (Category, bool) = (Category::Plain, true);
const BRANCH: (Category, bool) = (Category::ConditionalBranch, true);
const ALWAYS_TAKEN: (Category, bool) = (Category::ConditionalBranch, false);
const JUMP: (Category, bool) = (Category::Jump, false);
const RETURN: (Category, bool) = (Category::Return, false);

fn made(ins: &[(Category, bool)]) -> Made {
    Made(ins.to_vec())
}

#[test]
fn blocks_end_at_control_transfers_and_with_the_trace() {
    let source = made(&[PLAIN, BRANCH, BRANCH, PLAIN, PLAIN]);
    let trace = Trace::new(&source, IMAGE, true, LIMITS);
    let lens: Vec<usize> = trace.bbls().map(|bbl| bbl.ins().count()).collect();
    assert_eq!(lens, [2, 1, 2]);
    let heads: Vec<u64> = trace.bbls().map(|bbl| bbl.pc().0 - trace.pc().0).collect();
    assert_eq!(heads, [0, 8, 12]);
    let continue_one: Vec<bool> = trace.bbls().map(|bbl| bbl.is_continuation()).collect();
    assert_eq!(continue_one, [true, false, false]);
    let nothing = made(&[]);
    let empty = Trace::new(&nothing, IMAGE, false, LIMITS);
    assert_eq!((empty.bbls().count(), empty.ins().count()), (0, 0));
}

#[test]
fn there_is_a_point_behind_what_goes_on_and_a_taken_side_of_direct_branches() {
    let source = made(&[PLAIN, BRANCH, ALWAYS_TAKEN, JUMP, RETURN]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let count = |point| -> Vec<Result<(), Refused>> {
        let one = |ins: super::Ins<'_>| ins.insert_count(point, Counter::Global(0), 1);
        trace.ins().map(one).collect()
    };
    let no = Err(Refused::Point);
    assert_eq!(count(IPoint::After), [Ok(()), Ok(()), no, no, no]);
    assert_eq!(count(IPoint::TakenBranch), [no, Ok(()), Ok(()), Ok(()), no]);
    assert_eq!(count(IPoint::Before), [Ok(()); 5]);
    let inserted = trace.into_insertions();
    let behind: Vec<u32> = inserted
        .counts
        .iter()
        .filter(|c| c.after)
        .map(|c| c.ins)
        .collect();
    assert_eq!(behind, [0, 1, 1]);
    let taken = inserted.counts.iter().filter(|c| c.taken).map(|c| c.ins);
    assert_eq!(taken.collect::<Vec<_>>(), [1], "the others always are");
    assert_eq!(inserted.counts.len(), 2 + 3 + 5);
}

#[test]
fn on_the_taken_side_registers_are_changed_and_nothing_else() {
    let source = made(&[BRANCH, JUMP]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let ins: Vec<_> = trace.ins().collect();
    let args = [Arg::State(StateId(0)), Arg::Reg(Reg::Rbx)];
    let (to, routine) = (IPoint::TakenBranch, RoutineId(3));
    let no = Err(Refused::TakenSide);
    let rdi = Arg::Reg(Reg::Rdi);
    assert_eq!(ins[0].insert_jump(to, routine, &args), no);
    assert_eq!(ins[0].insert_store(to, rdi, 8, routine, &args), no);
    assert_eq!(
        ins[0].insert_call_into(to, Reg::Rax, routine, &args),
        Ok(())
    );
    assert_eq!(ins[1].insert_store(to, rdi, 8, routine, &args), Ok(()));
    let calls = trace.into_insertions().calls;
    let sides: Vec<_> = calls.iter().map(|call| (call.after, call.taken)).collect();
    assert_eq!(sides, [(true, true), (false, false)]);
}

#[test]
fn arguments_become_values_that_name_no_address_of_the_run() {
    let source = made(&[PLAIN, JUMP]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let ins: Vec<_> = trace.ins().collect();
    let args = [
        Arg::InsAddr,
        Arg::NextAddr,
        Arg::BranchTarget,
        Arg::MemoryEa(0),
        Arg::MemorySize(1),
        Arg::Reg(Reg::R9),
    ];
    ins[1]
        .insert_call(IPoint::Before, RoutineId(1), &args)
        .unwrap();
    let expected = CallInsertion {
        ins: 1,
        after: false,
        taken: false,
        anywhere: false,
        predicated: false,
        condition: None,
        into: None,
        routine: RoutineId(1),
        args: vec![
            Value::App(ImageOff(0x1004)),
            Value::App(ImageOff(0x1008)),
            Value::App(ImageOff(0x40)),
            Value::Memory(Address::Image(ImageOff(5))),
            Value::Const(8),
            Value::Reg(Reg::R9),
        ],
    };
    assert_eq!(trace.into_insertions().calls, [expected]);
}

#[test]
fn what_cannot_be_had_is_refused_and_leaves_nothing_behind() {
    let source = made(&[PLAIN]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let ins = trace.ins().next().unwrap();
    let call = |point, routine, args: &[Arg]| ins.insert_call(point, RoutineId(routine), args);
    let before = |args: &[Arg]| call(IPoint::Before, 0, args);
    assert_eq!(before(&[Arg::MemoryEa(1)]), Err(Refused::Operand));
    assert_eq!(before(&[Arg::MemorySize(2)]), Err(Refused::Operand));
    assert_eq!(before(&[Arg::BranchTarget]), Err(Refused::Target));
    assert_eq!(before(&[Arg::ThreadId; 7]), Err(Refused::Arguments));
    assert_eq!(
        call(IPoint::After, 0, &[Arg::MemoryEa(0)]),
        Err(Refused::Operand)
    );
    assert_eq!(call(IPoint::Before, 4, &[]), Err(Refused::Routine));
    assert!(trace.into_insertions().is_empty());
}

#[test]
fn arguments_must_fit_the_parameters() {
    let source = made(&[PLAIN]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let ins = trace.ins().next().unwrap();
    let call = |args: &[Arg]| ins.insert_call(IPoint::Anywhere, RoutineId(2), args);
    let [sum, other, small, none] = [0, 1, 2, 3].map(|id| Arg::State(StateId(id)));
    let yes = Arg::Const(1);
    assert_eq!(call(&[sum, other, yes]), Ok(()));
    assert_eq!(call(&[sum, other]), Err(Refused::Arguments));
    assert_eq!(call(&[sum, sum, yes]), Err(Refused::State));
    assert_eq!(call(&[sum, none, yes]), Err(Refused::State));
    let misfits = [
        [sum, small, yes],
        [sum, yes, yes],
        [sum, other, Arg::Const(2)],
        [sum, other, Arg::ThreadId],
    ];
    for misfit in misfits {
        assert_eq!(call(&misfit), Err(Refused::Type));
    }
    let hosted = ins.insert_call(IPoint::Before, RoutineId(0), &[sum]);
    assert_eq!(hosted, Err(Refused::Type));
    let calls = trace.into_insertions().calls;
    assert!(calls.len() == 1 && calls[0].anywhere);
}

#[test]
fn a_condition_goes_with_its_call() {
    let source = made(&[PLAIN]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let ins = trace.ins().next().unwrap();
    let due = [Arg::State(StateId(0)), Arg::Reg(Reg::Rbx)];
    let decided = ins.insert_if(IPoint::Anywhere, RoutineId(3), &due);
    decided
        .unwrap()
        .then(RoutineId(0), &[Arg::InsAddr])
        .unwrap();
    let fixed = [Arg::State(StateId(0)), Arg::Const(3)];
    let decided = ins.insert_if(IPoint::Anywhere, RoutineId(3), &fixed);
    decided.unwrap().then(RoutineId(0), &[]).unwrap();
    let calls = trace.into_insertions().calls;
    let condition = calls[0].condition.as_ref().unwrap();
    let args = [Value::State(StateId(0)), Value::Reg(Reg::Rbx)];
    assert_eq!(
        (condition.routine, &condition.args[..]),
        (RoutineId(3), &args[..])
    );
    assert_eq!((calls[0].routine, calls[0].anywhere), (RoutineId(0), false));
    assert_eq!(calls[0].args, [Value::App(ImageOff(0x1000))]);
    assert!(calls.len() == 2 && calls[1].anywhere);
}

#[test]
fn a_predicate_is_looked_at_before_the_instruction() {
    let source = made(&[PLAIN, PLAIN, PLAIN]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let call = |point| -> Vec<Result<(), Refused>> {
        let one = |ins: super::Ins<'_>| ins.insert_predicated_call(point, RoutineId(0), &[]);
        trace.ins().map(one).collect()
    };
    let no = Err(Refused::Predicate);
    assert_eq!(call(IPoint::Before), [Ok(()), Ok(()), no]);
    assert_eq!(call(IPoint::After), [Ok(()), no, no]);
    assert_eq!(call(IPoint::Anywhere), [Ok(()), Ok(()), no]);
    assert_eq!(call(IPoint::TakenBranch), [Err(Refused::Point); 3]);
    let calls = trace.into_insertions().calls;
    let made: Vec<_> = calls
        .iter()
        .map(|c| (c.ins, c.predicated, c.anywhere))
        .collect();
    let expected = [
        (0, false, false),
        (1, true, false),
        (0, false, false),
        (0, false, true),
        (1, true, false),
    ];
    assert_eq!(made, expected);
}

#[test]
fn a_condition_is_a_plain_routine_with_a_result() {
    let source = made(&[PLAIN, RETURN]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let ins: Vec<_> = trace.ins().collect();
    let due = [Arg::State(StateId(0)), Arg::Const(0)];
    let decided = |routine, args: &[Arg]| {
        let decided = ins[0].insert_if(IPoint::Before, RoutineId(routine), args);
        decided.map(drop)
    };
    let [sum, other] = [0, 1].map(|id| Arg::State(StateId(id)));
    assert_eq!(decided(0, &[]), Err(Refused::Result));
    assert_eq!(
        decided(2, &[sum, other, Arg::Const(1)]),
        Err(Refused::Result)
    );
    assert_eq!(decided(3, &[sum]), Err(Refused::Arguments));
    assert_eq!(decided(4, &[]), Err(Refused::Routine));
    let after = ins[1].insert_if(IPoint::After, RoutineId(3), &due);
    assert_eq!(after.map(drop), Err(Refused::Point));
    let decided = ins[0]
        .insert_if(IPoint::Before, RoutineId(3), &due)
        .unwrap();
    assert_eq!(decided.then(RoutineId(3), &[sum]), Err(Refused::Arguments));
    assert!(trace.into_insertions().is_empty());
}

#[test]
fn a_result_goes_to_a_register_but_rsp_or_says_where_to_go_on() {
    let source = made(&[PLAIN, RETURN]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let ins: Vec<_> = trace.ins().collect();
    let args = [Arg::State(StateId(0)), Arg::Reg(Reg::Rbx)];
    let into = |n: usize, point, reg, routine| {
        let routine = RoutineId(routine);
        let args = if routine.0 == 0 { &[][..] } else { &args };
        ins[n].insert_call_into(point, reg, routine, args)
    };
    use IPoint::{After, Anywhere, Before};
    assert_eq!(into(0, Before, Reg::Rsp, 3), Err(Refused::StackPointer));
    assert_eq!(into(0, Before, Reg::Rax, 0), Err(Refused::Result));
    assert_eq!(into(0, Anywhere, Reg::Rax, 3), Err(Refused::Point));
    assert_eq!(into(1, After, Reg::Rax, 3), Err(Refused::Point));
    assert_eq!(into(0, Before, Reg::Rbx, 3), Ok(()));
    assert_eq!(into(0, After, Reg::R15, 3), Ok(()));
    let jump = |n: usize, point, args: &[Arg]| ins[n].insert_jump(point, RoutineId(3), args);
    assert_eq!(jump(0, Anywhere, &args), Err(Refused::Point));
    assert_eq!(jump(1, After, &args), Err(Refused::Point));
    assert_eq!(jump(1, Before, &args), Ok(()));
    let calls = trace.into_insertions().calls;
    let made: Vec<_> = calls.iter().map(|call| (call.after, call.into)).collect();
    let to = |after, reg| (after, Some(Destination::Register(reg)));
    let jump = (false, Some(Destination::ProgramCounter));
    assert_eq!(made, [to(false, Reg::Rbx), to(true, Reg::R15), jump]);
}

#[test]
fn a_result_is_stored_in_a_power_of_two_at_an_address_of_the_program() {
    let source = made(&[PLAIN, RETURN]);
    let trace = Trace::new(&source, IMAGE, false, LIMITS);
    let ins: Vec<_> = trace.ins().collect();
    let args = [Arg::State(StateId(0)), Arg::Reg(Reg::Rbx)];
    let store = |n: usize, point, address, bytes| {
        ins[n].insert_store(point, address, bytes, RoutineId(3), &args)
    };
    use IPoint::{After, Anywhere, Before};
    let rdi = Arg::Reg(Reg::Rdi);
    for bytes in [0, 3, 5, 16, 255] {
        assert_eq!(store(0, Before, rdi, bytes), Err(Refused::Address));
    }
    for address in [Arg::ThreadId, Arg::State(StateId(0))] {
        assert_eq!(store(0, Before, address, 8), Err(Refused::Address));
    }
    assert_eq!(store(0, Before, Arg::MemoryEa(7), 8), Err(Refused::Operand));
    assert_eq!(store(0, Anywhere, rdi, 8), Err(Refused::Point));
    assert_eq!(store(1, After, rdi, 8), Err(Refused::Point));
    let without = ins[0].insert_store(Before, rdi, 8, RoutineId(0), &[]);
    assert_eq!(without, Err(Refused::Result));
    for bytes in [1, 2, 4, 8] {
        assert_eq!(store(0, After, rdi, bytes), Ok(()));
    }
    assert_eq!(store(1, Before, Arg::Const(0x1000), 4), Ok(()));
    let calls = trace.into_insertions().calls;
    let made: Vec<_> = calls.iter().filter_map(|call| call.into).collect();
    let behind = [1, 2, 4, 8].map(|bytes| Destination::Memory(Value::Reg(Reg::Rdi), bytes));
    let before = Destination::Memory(Value::Const(0x1000), 4);
    assert_eq!(made, [&behind[..], &[before]].concat());
    for into in made {
        let Destination::Memory(address, _) = into else {
            panic!("all are stored");
        };
        assert_eq!(Destination::of(into.number(), address), Some(into));
        assert_eq!(Destination::of(into.number(), Value::ThreadId), None);
    }
    assert_eq!(Destination::of(21, Value::Const(0)), None);
}

#[test]
fn an_address_out_of_reach_of_the_image_is_refused() {
    let source = made(&[JUMP]);
    let far = ImageBase(1 << 40);
    let trace = Trace::new(&source, far, false, LIMITS);
    let ins = trace.ins().next().unwrap();
    assert_eq!(ins.image_offset(), None);
    let call = ins.insert_call(IPoint::Before, RoutineId(0), &[Arg::InsAddr]);
    assert_eq!(call, Err(Refused::Target));
}

proptest! {
    #[test]
    fn a_count_is_granted_within_the_limits_and_only_there(
        image in any::<bool>(),
        number in 0_u32..70,
        amount in prop_oneof![0_u32..4, MAX_AMOUNT - 1..MAX_AMOUNT + 2],
    ) {
        let source = made(&[PLAIN]);
        let trace = Trace::new(&source, IMAGE, false, LIMITS);
        let (counter, limit) = match image {
            true => (Counter::Image(number), LIMITS.image_counters),
            false => (Counter::Global(number), LIMITS.global_counters),
        };
        let ins = trace.ins().next().unwrap();
        let granted = ins.insert_count(IPoint::Anywhere, counter, amount).is_ok();
        prop_assert_eq!(granted, number < limit && (1..=MAX_AMOUNT).contains(&amount));
        prop_assert_eq!(trace.into_insertions().counts.len(), usize::from(granted));
    }
}
