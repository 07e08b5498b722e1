//! Registers that an operand of an instruction always is.

use iced_x86::{Code, Instruction, Mnemonic, OpKind};

/// Whether operand `n` of an instruction that computes is the same register in all instructions with
/// this opcode, so that no other can be named in its place.
///
/// (The library says so for all opcodes, from a table that it would first build for all of them.)
pub(crate) fn is_fixed(ins: &Instruction, n: u32) -> bool {
    let last = n + 1 == ins.op_count();
    match n {
        0 => begins_with_accumulator(ins.code()),
        _ if last => shifts_by_register(ins) || ends_with_accumulator(ins.code()),
        _ => false,
    }
}

fn shifts_by_register(ins: &Instruction) -> bool {
    use Mnemonic::{Rcl, Rcr, Rol, Ror, Sal, Sar, Shl, Shld, Shr, Shrd};
    let last = ins.op_count().saturating_sub(1);
    let shifts = matches!(
        ins.mnemonic(),
        Rcl | Rcr | Rol | Ror | Sal | Sar | Shl | Shld | Shr | Shrd
    );
    shifts && ins.op_kind(last) == OpKind::Register
}

fn begins_with_accumulator(code: Code) -> bool {
    matches!(
        code,
        Code::Adc_AL_imm8
            | Code::Adc_AX_imm16
            | Code::Adc_EAX_imm32
            | Code::Adc_RAX_imm32
            | Code::Add_AL_imm8
            | Code::Add_AX_imm16
            | Code::Add_EAX_imm32
            | Code::Add_RAX_imm32
            | Code::And_AL_imm8
            | Code::And_AX_imm16
            | Code::And_EAX_imm32
            | Code::And_RAX_imm32
            | Code::Cmp_AL_imm8
            | Code::Cmp_AX_imm16
            | Code::Cmp_EAX_imm32
            | Code::Cmp_RAX_imm32
            | Code::Or_AL_imm8
            | Code::Or_AX_imm16
            | Code::Or_EAX_imm32
            | Code::Or_RAX_imm32
            | Code::Sbb_AL_imm8
            | Code::Sbb_AX_imm16
            | Code::Sbb_EAX_imm32
            | Code::Sbb_RAX_imm32
            | Code::Sub_AL_imm8
            | Code::Sub_AX_imm16
            | Code::Sub_EAX_imm32
            | Code::Sub_RAX_imm32
            | Code::Test_AL_imm8
            | Code::Test_AX_imm16
            | Code::Test_EAX_imm32
            | Code::Test_RAX_imm32
            | Code::Xor_AL_imm8
            | Code::Xor_AX_imm16
            | Code::Xor_EAX_imm32
            | Code::Xor_RAX_imm32
            | Code::Mov_AL_moffs8
            | Code::Mov_AX_moffs16
            | Code::Mov_EAX_moffs32
            | Code::Mov_RAX_moffs64
    )
}

fn ends_with_accumulator(code: Code) -> bool {
    matches!(
        code,
        Code::Mov_moffs8_AL
            | Code::Mov_moffs16_AX
            | Code::Mov_moffs32_EAX
            | Code::Mov_moffs64_RAX
            | Code::Xchg_r16_AX
            | Code::Xchg_r32_EAX
            | Code::Xchg_r64_RAX
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keep::is_plain;
    use iced_x86::OpCodeOperandKind as K;

    #[test]
    fn it_is_as_the_library_says() {
        let mut fixed = 0;
        for code in Code::values() {
            let mut ins = Instruction::default();
            ins.set_code(code);
            let opcode = code.op_code();
            if !is_plain(&ins) || !opcode.mode64() {
                continue;
            }
            for n in 0..ins.op_count() {
                let kind = opcode.op_kind(n);
                let register = matches!(kind, K::al | K::cl | K::ax | K::dx | K::eax | K::rax);
                if kind == K::imm8_const_1 || kind == K::imm8 {
                    ins.set_op_kind(n, OpKind::Immediate8);
                }
                assert_eq!(is_fixed(&ins, n), register, "{code:?} {n}");
                fixed += u32::from(register);
            }
        }
        assert!(fixed > 60, "{fixed}");
    }
}
