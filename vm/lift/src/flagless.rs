//! Bodies that leave the arithmetic flags alone.
//!
//! ```text
//! add r, n        lea r, [r + n]
//! inc [m]         mov t, [m]; lea t, [t + 1]; mov [m], t
//! ```

use crate::body::{End, Lifted, Path, Step};
use crate::keep::lifted;
use crate::lift::Body;
use crate::operand::{operand_size, register_of};
use alloc::vec::Vec;
use iced_x86::{Code, Instruction, MemoryOperand, Mnemonic, OpKind, Register};

impl Body {
    /// The same body in a form that leaves the flags alone, if there is one that costs little.
    #[must_use]
    pub fn without_flags(&self) -> Option<Self> {
        if !self.flags {
            return Some(self.clone());
        }
        if !matches!(self.path.end, End::Done) {
            return None;
        }
        let spare = (0..16).find(|n| *n != 4 && self.registers & 1 << n == 0)?;
        let mut steps = Vec::new();
        for step in &self.path.steps {
            match step {
                Step::Ins(ins) if ins.writes_flags != 0 => replace(ins, spare, &mut steps)?,
                other => steps.push(*other),
            }
        }
        let used = steps
            .iter()
            .any(|step| matches!(step, Step::Ins(ins) if ins.writes & 1 << spare != 0));
        let end = End::Done;
        Some(Self {
            path: Path { steps, end },
            registers: self.registers | u16::from(used) << spare,
            fixed: self.fixed,
            flags: false,
        })
    }
}

/// The register numbered `n`, of `size` bytes.
fn register(n: u8, size: usize) -> Register {
    let first = if size == 8 {
        Register::RAX
    } else {
        Register::EAX
    };
    first + u32::from(n)
}

/// What is added by `ins`: a register or a number.
fn amount(ins: &Instruction) -> Option<(Register, i64)> {
    let number = |n: i64| Some((Register::None, n));
    match ins.mnemonic() {
        Mnemonic::Inc => number(1),
        Mnemonic::Dec => number(-1),
        Mnemonic::Add if ins.op1_kind() == OpKind::Register => {
            Some((ins.op1_register().full_register(), 0))
        }
        Mnemonic::Add => number(ins.try_immediate(1).ok()?.cast_signed()),
        Mnemonic::Sub if ins.op1_kind() != OpKind::Register => {
            number(ins.try_immediate(1).ok()?.cast_signed().checked_neg()?)
        }
        _ => None,
    }
}

fn replace(from: &Lifted, spare: u8, steps: &mut Vec<Step>) -> Option<()> {
    let ins = &from.ins;
    let size = operand_size(ins);
    if size < 4 || ins.op1_kind() == OpKind::Memory && ins.op_count() == 2 {
        return None;
    }
    let (other, number) = amount(ins)?;
    let number = i32::try_from(number).ok()?;
    let wide = size == 8;
    let choose = |wide_code, code| if wide { wide_code } else { code };
    let sum = |base: Register| {
        let memory =
            MemoryOperand::new(base, other, 1, i64::from(number), 1, false, Register::None);
        let lea = choose(Code::Lea_r64_m, Code::Lea_r32_m);
        let to = register(base.number() as u8, size);
        Instruction::with2(lea, to, memory).ok()
    };
    let mut push = |ins: Instruction| {
        steps.push(Step::Ins(lifted(&ins).ok()?));
        Some(())
    };
    if let Some(to) = register_of(ins, 0) {
        return push(sum(register(to as u8, 8))?);
    }
    let memory = MemoryOperand::new(
        ins.memory_base(),
        ins.memory_index(),
        ins.memory_index_scale(),
        ins.memory_displacement64().cast_signed(),
        ins.memory_displ_size(),
        false,
        Register::None,
    );
    let value = register(spare, size);
    push(
        Instruction::with2(
            choose(Code::Mov_r64_rm64, Code::Mov_r32_rm32),
            value,
            memory,
        )
        .ok()?,
    )?;
    push(sum(register(spare, 8))?)?;
    push(
        Instruction::with2(
            choose(Code::Mov_rm64_r64, Code::Mov_rm32_r32),
            memory,
            value,
        )
        .ok()?,
    )
}
