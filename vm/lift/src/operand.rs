//! What the operands of a routine's instructions are.

use iced_x86::{Instruction, OpKind, Register};

/// Bytes of the operands that are computed with.
pub(crate) fn operand_size(ins: &Instruction) -> usize {
    match ins.op0_kind() {
        OpKind::Register => ins.op0_register().size(),
        _ => ins.memory_size().size(),
    }
}

/// The general register that operand `n` is or is a part of. (The second bytes of the first four
/// are none.)
pub(crate) fn register_of(ins: &Instruction, n: u32) -> Option<usize> {
    if n >= ins.op_count() || ins.op_kind(n) != OpKind::Register {
        return None;
    }
    let register = ins.op_register(n);
    general(register)
}

/// The same of a register that is an operand.
pub(crate) fn general(register: Register) -> Option<usize> {
    use Register as R;
    let full = register.full_register();
    let high = matches!(register, R::AH | R::BH | R::CH | R::DH);
    (full.is_gpr64() && !high).then(|| full.number())
}
