//! What instructions do with the word on top of the stack, where a return address may lie.

use crate::Ins;
use iced_x86::{Code, Instruction, Register};

/// Whether `ins` writes the word that a return behind it goes by.
#[must_use]
pub fn writes(ins: &Ins) -> bool {
    let raw = &ins.raw;
    match raw.code() {
        Code::Push_r64 | Code::Push_rm64 => true,
        Code::Mov_rm64_r64 | Code::Xchg_rm64_r64 => {
            let place = (raw.memory_base(), raw.memory_index());
            place == (Register::RSP, Register::None) && raw.memory_displacement64() == 0
        }
        _ => false,
    }
}

/// Whether `trace` begins with a push that does not read memory.
#[must_use]
pub fn is_pushed_by(trace: &[Ins]) -> bool {
    let mut codes = trace.iter().map(|ins| ins.raw.code());
    let first = codes.find(|code| *code != Code::Endbr64);
    let pushes = [Code::Push_r64, Code::Pushq_imm8, Code::Pushq_imm32];
    first.is_some_and(|code| pushes.contains(&code))
}

/// Whether an instruction moves it to memory, by none of the registers in `not_by`.
#[must_use]
pub fn moves(raw: &Instruction, not_by: &[Register]) -> bool {
    let [base, index] = [raw.memory_base(), raw.memory_index()];
    raw.code() == Code::Pop_rm64
        && base.is_gpr64()
        && raw.segment_prefix() == Register::None
        && ![base, index].iter().any(|part| not_by.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InsReader;
    use ppin_abi::addr::AppPc;

    fn read(code: &[u8]) -> Ins {
        InsReader::new(AppPc(0), code)
            .read()
            .expect("one instruction")
    }

    #[test]
    fn pushes_and_stores_write_it() {
        let push: &[u8] = &[0x41, 0x53];
        let store: &[u8] = &[0x4c, 0x89, 0x1c, 0x24];
        let below: &[u8] = &[0x4c, 0x89, 0x5c, 0x24, 0xf8];
        let pop: &[u8] = &[0x5b];
        let found = [push, store, below, pop].map(|code| writes(&read(code)));
        assert_eq!(found, [true, true, false, false]);
    }

    #[test]
    fn a_trace_may_begin_with_a_push_behind_a_mark() {
        let (mark, push, load) = ([0xf3, 0x0f, 0x1e, 0xfa], [0x55], [0xff, 0x30]);
        let traces = [
            vec![read(&mark), read(&push)],
            vec![read(&push)],
            vec![read(&load)],
            vec![],
        ];
        let found = traces.map(|trace| is_pushed_by(&trace));
        assert_eq!(found, [true, true, false, false]);
    }

    #[test]
    fn a_pop_to_memory_moves_it() {
        let to_frame = read(&[0x8f, 0x45, 8]).raw;
        assert!(moves(&to_frame, &[]));
        assert!(!moves(&to_frame, &[Register::RBP]));
        assert!(!moves(&read(&[0x5d]).raw, &[]), "to a register");
        assert!(!moves(&read(&[0x64, 0x8f, 0x45, 8]).raw, &[]), "elsewhere");
    }
}
