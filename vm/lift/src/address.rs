//! Where a memory operand lies, from what is known of its registers.

use crate::body::Why;
use crate::step::Stepper;
use crate::values::Value;
use iced_x86::{Instruction, OpKind, Register};

/// A memory operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// On the stack, from its top at the routine's entry.
    Stack(i64),
    /// At an address of the routine's object.
    Object(u64),
    /// At a number.
    Number(u64),
    /// At registers and this number. The others are known and part of it.
    Sum {
        base: Part,
        index: Part,
        number: i64,
    },
}

/// A register of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// There is none, or it has become a part of the number.
    None,
    /// The register is needed.
    Register(Register),
}

impl Stepper<'_> {
    /// Where the memory operand of `ins` lies, if it has one. `lea` has one, too.
    pub(crate) fn place(&self, ins: &Instruction) -> Result<Option<Place>, Why> {
        let has = (0..ins.op_count()).any(|n| ins.op_kind(n) == OpKind::Memory);
        if !has {
            return Ok(None);
        }
        if ins.has_segment_prefix() || ins.is_vsib() {
            return Err(Why::Instruction);
        }
        if ins.is_ip_rel_memory_operand() {
            return Ok(Some(Place::Object(ins.ip_rel_memory_address())));
        }
        let scale = u64::from(ins.memory_index_scale());
        let mut sum = ins.memory_displacement64();
        let mut object = None;
        let mut stack = None;
        let mut parts = [Part::None; 2];
        let registers = [(ins.memory_base(), 1), (ins.memory_index(), scale)];
        for (part, (register, factor)) in parts.iter_mut().zip(registers) {
            if register == Register::None {
                continue;
            }
            if !register.is_gpr64() {
                return Err(Why::Instruction);
            }
            match self.state.registers[register.number()] {
                Value::Const { value, .. } => {
                    sum = sum.wrapping_add(value.wrapping_mul(factor));
                }
                Value::Object { address, .. } if factor == 1 && object.is_none() => {
                    object = Some(address);
                    *part = Part::Register(register);
                }
                Value::Stack(at) if factor == 1 => stack = Some(at),
                Value::Stack(_) => return Err(Why::Stack),
                _ => *part = Part::Register(register),
            }
        }
        let [base, index] = parts;
        let free = [base, index]
            .iter()
            .filter(|part| **part != Part::None)
            .count();
        Ok(Some(match (stack, object, free) {
            (Some(at), None, 0) => Place::Stack(at.wrapping_add(sum.cast_signed())),
            (Some(_), ..) => return Err(Why::Stack),
            (None, Some(address), 1) => Place::Object(address.wrapping_add(sum)),
            (None, None, 0) => Place::Number(sum),
            _ => Place::Sum {
                base,
                index,
                number: sum.cast_signed(),
            },
        }))
    }
}
