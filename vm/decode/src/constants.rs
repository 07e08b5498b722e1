//! Addresses that a trace computes without looking at registers: where descriptors of
//! restartable sequences are met first.

use super::Ins;
use iced_x86::{Code, OpKind};

/// What an instruction takes from its own bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constant {
    /// This address.
    Address(u64),
    /// The address that lies there.
    Load(u64),
    /// This number.
    Number(u64),
}

/// The constant of `ins`.
pub fn of(ins: &Ins) -> Option<Constant> {
    let raw = &ins.raw;
    match raw.code() {
        Code::Lea_r64_m if raw.is_ip_rel_memory_operand() => {
            Some(Constant::Address(raw.ip_rel_memory_address()))
        }
        Code::Mov_r64_rm64 if raw.is_ip_rel_memory_operand() => {
            Some(Constant::Load(raw.ip_rel_memory_address()))
        }
        Code::Mov_r64_imm64 | Code::Mov_r32_imm32 => Some(Constant::Number(raw.immediate(1))),
        Code::Mov_rm64_imm32 if raw.op1_kind() != OpKind::Memory => {
            Some(Constant::Number(raw.immediate(1)))
        }
        _ => None,
    }
}
