//! Instructions that show the address of the last x87 instruction.
//!
//! The CPU keeps that address, and here it is one in the cache. Where the app stores
//! it, the field is put right behind the store.

use iced_x86::{Code, Instruction, Register};

/// Where in the stored image the pointer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointerField {
    /// Where it begins, in bytes.
    pub offset: u8,
    /// Bytes of it that are stored.
    pub width: u8,
}

const fn field(offset: u8, width: u8) -> Option<PointerField> {
    Some(PointerField { offset, width })
}

/// The field that `raw` stores, `None` for all other instructions. Images of 16 bits
/// hold too little of an address to know it by.
pub fn pointer_field(raw: &Instruction) -> Option<PointerField> {
    match raw.code() {
        Code::Fstenv_m28byte
        | Code::Fnstenv_m28byte
        | Code::Fsave_m108byte
        | Code::Fnsave_m108byte => field(12, 4),
        Code::Fxsave_m512byte | Code::Xsave_mem | Code::Xsaveopt_mem | Code::Xsavec_mem => {
            field(8, 4)
        }
        Code::Fxsave64_m512byte | Code::Xsave64_mem | Code::Xsaveopt64_mem | Code::Xsavec64_mem => {
            field(8, 8)
        }
        _ => None,
    }
}

/// Whether `raw`, behind `before` in one trace, certainly leaves x87 state out: the mask
/// of `xsave` is a constant. Lazy binding is like that, and frequent.
pub fn left_out<'a>(
    raw: &Instruction,
    before: impl DoubleEndedIterator<Item = &'a Instruction>,
) -> bool {
    const X87: u64 = 1;
    let masked = !matches!(
        raw.code(),
        Code::Fstenv_m28byte
            | Code::Fnstenv_m28byte
            | Code::Fsave_m108byte
            | Code::Fnsave_m108byte
            | Code::Fxsave_m512byte
            | Code::Fxsave64_m512byte
    );
    masked && constant_eax(before).is_some_and(|mask| mask & X87 == 0)
}

/// What the instructions leave in eax, if the last to write it is a constant load.
fn constant_eax<'a>(before: impl DoubleEndedIterator<Item = &'a Instruction>) -> Option<u64> {
    let mut factory = iced_x86::InstructionInfoFactory::new();
    let writer = before.rev().find(|raw| {
        let info = factory.info(raw);
        let writes = |used: &iced_x86::UsedRegister| {
            used.register().full_register() == Register::RAX
                && !matches!(
                    used.access(),
                    iced_x86::OpAccess::Read | iced_x86::OpAccess::CondRead
                )
        };
        info.used_registers().iter().any(writes)
    })?;
    let load = matches!(
        writer.code(),
        Code::Mov_r32_imm32 | Code::Mov_rm32_imm32 | Code::Mov_rm64_imm32
    );
    load.then(|| writer.immediate(1))
}
