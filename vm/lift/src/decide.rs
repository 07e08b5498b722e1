//! What a routine says that decides: whether its result, in rax, is 0.
//!
//! ```text
//! the result is known       End::Done or End::Then
//! setcc al; ret             the branch on cc itself
//! anything else             test rax, rax, and a branch
//! ```

use crate::body::{Branch, End, Lifted, Path, Step, Why};
use crate::keep::lifted;
use crate::values::{State, Value};
use crate::walk::condition;
use alloc::boxed::Box;
use alloc::vec::Vec;
use iced_x86::{Code, ConditionCode, Instruction, Register, RflagsBits};
use ppin_api::Outcome;

/// Number of rax.
const RAX: usize = 0;
/// "Not zero", as an opcode has it.
const NOT_ZERO: u8 = 5;

/// How a way ends that returns with `state` behind `steps`.
pub(crate) fn decision(state: &State, steps: &mut Vec<Step>, outcome: Outcome) -> Result<End, Why> {
    match state.registers[RAX] {
        Value::Const { value, .. } if outcome.of(value) == 0 => Ok(End::Done),
        Value::Const { .. } => Ok(End::Then),
        Value::Dynamic { .. } => branch(steps, outcome),
        Value::Stack(_) => Err(Why::Stack),
        Value::Callers(_) | Value::Object { .. } => Err(Why::Instruction),
    }
}

/// The branch on what a virtual register holds.
fn branch(steps: &mut Vec<Step>, outcome: Outcome) -> Result<End, Why> {
    if let Some((condition, flags)) = last_set(steps).filter(|_| outcome == Outcome::Bool) {
        steps.pop();
        return Ok(either(condition, flags));
    }
    let (code, register) = match outcome {
        Outcome::None => return Ok(End::Done),
        Outcome::Word => (Code::Test_rm64_r64, Register::RAX),
        Outcome::Half => (Code::Test_rm32_r32, Register::EAX),
        Outcome::Bool => (Code::Test_rm8_r8, Register::AL),
    };
    let test = Instruction::with2(code, register, register).map_err(|_| Why::Instruction)?;
    steps.push(Step::Ins(lifted(&test)?));
    Ok(either(NOT_ZERO, RflagsBits::ZF))
}

/// The condition and its flags, if the last of `steps` sets al by it.
fn last_set(steps: &[Step]) -> Option<(u8, u32)> {
    let Some(Step::Ins(Lifted {
        ins, reads_flags, ..
    })) = steps.last()
    else {
        return None;
    };
    let sets = ins.condition_code() != ConditionCode::None && ins.op_count() == 1;
    let to_al = sets && ins.op0_register() == Register::AL;
    to_al.then(|| (condition(ins), *reads_flags))
}

fn either(condition: u8, flags: u32) -> End {
    let way = |end| Path {
        steps: Vec::new(),
        end,
    };
    End::If(Box::new(Branch {
        condition,
        flags,
        taken: way(End::Then),
        other: way(End::Done),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::Code as Bytes;
    use crate::{Known, Wanted, lift};

    const RET: u8 = 0xc3;

    fn decided(code: &[u8], outcome: Outcome) -> Result<Path, Why> {
        let code = Bytes(0x1000, code.to_vec());
        let known = [Known::State, Known::Nothing];
        let body = lift(&code, 0x1000, &known, Wanted::Decision(outcome))?;
        Ok(body.path)
    }

    /// The mnemonics of the steps that are instructions, and the condition at their end.
    fn listed(path: &Path) -> (Vec<String>, Option<u8>) {
        let name = |step: &Step| match step {
            Step::Ins(lifted) => Some(format!("{}", lifted.ins)),
            _ => None,
        };
        let condition = match &path.end {
            End::If(branch) => {
                assert!(matches!(branch.taken.end, End::Then));
                assert!(matches!(branch.other.end, End::Done));
                Some(branch.condition)
            }
            _ => None,
        };
        (path.steps.iter().filter_map(name).collect(), condition)
    }

    #[test]
    fn what_is_known_needs_no_branch() {
        // xor eax, eax; ret, and mov eax, 0x100; ret
        let no = decided(&[0x31, 0xc0, RET], Outcome::Word).unwrap();
        assert!(matches!(no.end, End::Done) && no.is_ever_done());
        let code = [0xb8, 0, 1, 0, 0, RET];
        let yes = decided(&code, Outcome::Half).unwrap();
        assert!(matches!(yes.end, End::Then) && !yes.is_ever_done());
        // Of a truth value, the lowest byte counts.
        assert!(matches!(
            decided(&code, Outcome::Bool).unwrap().end,
            End::Done
        ));
    }

    #[test]
    fn a_flag_that_becomes_a_truth_value_decides_itself() {
        // dec qword [rdi]; sete al; ret
        let code = [0x48, 0xff, 0x0f, 0x0f, 0x94, 0xc0, RET];
        let path = decided(&code, Outcome::Bool).unwrap();
        assert_eq!(listed(&path), (vec!["dec qword ptr [rdi]".into()], Some(4)));
    }

    #[test]
    fn anything_else_is_tested_at_its_size() {
        // mov rax, [rdi]; ret
        let code = [0x48, 0x8b, 0x07, RET];
        for (outcome, test) in [
            (Outcome::Word, "test rax,rax"),
            (Outcome::Half, "test eax,eax"),
            (Outcome::Bool, "test al,al"),
        ] {
            let path = decided(&code, outcome).unwrap();
            let steps = vec!["mov rax,[rdi]".into(), test.into()];
            assert_eq!(listed(&path), (steps, Some(NOT_ZERO)));
        }
        // xor eax, eax; cmp rsi, 5; setb al; ret: as a word, the upper bytes count.
        let code = [0x31, 0xc0, 0x48, 0x83, 0xfe, 5, 0x0f, 0x92, 0xc0, RET];
        let (steps, condition) = listed(&decided(&code, Outcome::Word).unwrap());
        assert_eq!(steps, ["cmp rsi,5h", "setb al", "test rax,rax"]);
        assert_eq!(condition, Some(NOT_ZERO));
    }

    #[test]
    fn ways_that_say_the_same_are_one() {
        // cmp rsi, 5; je +3; xor eax, eax; ret; xor eax, eax; ret
        let code = [
            0x48, 0x83, 0xfe, 5, 0x74, 3, 0x31, 0xc0, RET, 0x31, 0xc0, RET,
        ];
        let path = decided(&code, Outcome::Word).unwrap();
        assert!(path.steps.is_empty() && matches!(path.end, End::Done));
    }

    #[test]
    fn a_result_that_was_never_made_is_refused() {
        assert_eq!(decided(&[RET], Outcome::Word).err(), Some(Why::Instruction));
        // mov rax, rsp; ret
        let stack = decided(&[0x48, 0x89, 0xe0, RET], Outcome::Word);
        assert_eq!(stack.err(), Some(Why::Stack));
    }

    #[test]
    fn a_result_that_nobody_wants_is_not_computed() {
        // mov rax, [rdi]; inc qword [rdi]; ret
        let code = Bytes(0x1000, vec![0x48, 0x8b, 0x07, 0x48, 0xff, 0x07, RET]);
        let body = lift(&code, 0x1000, &[Known::State], Wanted::Deeds).unwrap();
        assert_eq!(listed(&body.path).0, ["inc qword ptr [rdi]"]);
    }
}
