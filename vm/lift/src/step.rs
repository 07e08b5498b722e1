//! One instruction of a routine: computed if its operands are known, else kept.

use crate::address::Place;
use crate::body::{Step, Why};
use crate::fold::{ARITHMETIC, Flags, fold, fold_one, holds, mask, signed};
use crate::keep;
use crate::operand::{operand_size, register_of};
use crate::values::{CpuFlags, RSP, State, Value};
use crate::walk::condition;
use alloc::vec::Vec;
use iced_x86::{Instruction, Mnemonic, OpKind, RflagsBits};
use ppin_api::compiler::CodeBytes;

pub(crate) struct Stepper<'a> {
    pub code: &'a dyn CodeBytes,
    pub state: &'a mut State,
    pub steps: &'a mut Vec<Step>,
}

impl Stepper<'_> {
    pub(crate) fn step(&mut self, ins: &Instruction) -> Result<(), Why> {
        use Mnemonic as M;
        match ins.mnemonic() {
            M::Nop | M::Endbr64 => return Ok(()),
            M::Push | M::Pop => return self.push_or_pop(ins),
            _ if writes_rsp(ins) => return self.move_rsp(ins),
            _ => {}
        }
        let place = self.place(ins)?;
        if let Some(Place::Stack(at)) = place {
            return self.on_stack(ins, at);
        }
        if self.computed(ins, place)? {
            return Ok(());
        }
        self.keep(ins, place)
    }

    fn push_or_pop(&mut self, ins: &Instruction) -> Result<(), Why> {
        let register = register_of(ins, 0).filter(|_| ins.op0_register().size() == 8);
        let register = register.ok_or(Why::Stack)?;
        if ins.mnemonic() == Mnemonic::Push {
            self.state.move_stack(-8)?;
            let at = self.state.stack_pointer()?;
            return self.state.keep(at, self.state.registers[register]);
        }
        let at = self.state.stack_pointer()?;
        self.state.registers[register] = self.state.kept(at)?;
        self.state.move_stack(8)
    }

    fn move_rsp(&mut self, ins: &Instruction) -> Result<(), Why> {
        let by = match (ins.mnemonic(), self.operand(ins, 1)) {
            (Mnemonic::Add, Some(Value::Const { value, .. })) => value.cast_signed(),
            (Mnemonic::Sub, Some(Value::Const { value, .. })) => value.cast_signed().wrapping_neg(),
            (Mnemonic::Mov, Some(Value::Stack(at))) => at - self.state.stack_pointer()?,
            _ => return Err(Why::Stack),
        };
        if ins.rflags_modified() != RflagsBits::NONE {
            self.state.flags = CpuFlags::There(RflagsBits::NONE);
        }
        self.state.move_stack(by)
    }

    /// Moves to and from the stack.
    fn on_stack(&mut self, ins: &Instruction, at: i64) -> Result<(), Why> {
        let whole = |n| register_of(ins, n).filter(|_| ins.op_register(n).size() == 8);
        match (ins.mnemonic(), whole(0), whole(1)) {
            (Mnemonic::Lea, Some(to), _) => self.state.registers[to] = Value::Stack(at),
            (Mnemonic::Mov, Some(to), None) => self.state.registers[to] = self.state.kept(at)?,
            (Mnemonic::Mov, None, Some(from)) => {
                self.state.keep(at, self.state.registers[from])?;
            }
            _ => return Err(Why::Stack),
        }
        Ok(())
    }

    /// The value of operand `n`, if it is no memory.
    fn operand(&self, ins: &Instruction, n: u32) -> Option<Value> {
        if n >= ins.op_count() {
            return None;
        }
        match ins.op_kind(n) {
            OpKind::Register => {
                let register = register_of(ins, n)?;
                let value = self.state.registers[register];
                let size = ins.op_register(n).size();
                match value {
                    Value::Const { value, .. } => Some(Value::number(value & mask(size))),
                    _ if size == 8 => Some(value),
                    _ => None,
                }
            }
            OpKind::Memory => None,
            _ => ins.try_immediate(n).ok().map(Value::number),
        }
    }

    /// Does what needs no code at run time; `false` if the instruction is needed.
    fn computed(&mut self, ins: &Instruction, place: Option<Place>) -> Result<bool, Why> {
        use Mnemonic as M;
        if self.zeroes(ins) {
            let size = ins.op0_register().size();
            return Ok(self.assign(ins, 0, size, known_flags(M::Xor, size)));
        }
        let size = operand_size(ins);
        match ins.mnemonic() {
            M::Mov | M::Movzx | M::Movsx | M::Movsxd => Ok(self.moved(ins, place)),
            M::Lea => Ok(self.address(ins, place)),
            M::Cmp | M::Test => Ok(self.compared(ins, size)),
            M::Imul if ins.op_count() == 3 => {
                let (one, other) = (self.number(ins, 1), self.number(ins, 2));
                Ok(self.both(ins, size, one, other))
            }
            M::Add | M::Sub if self.moves_address(ins) => Ok(true),
            M::Add | M::Sub | M::And | M::Or | M::Xor | M::Shl | M::Shr | M::Sar | M::Imul => {
                let (one, other) = (self.number(ins, 0), self.number(ins, 1));
                Ok(self.both(ins, size, one, other))
            }
            M::Inc | M::Dec | M::Neg | M::Not => {
                let folded = self
                    .number(ins, 0)
                    .and_then(|one| fold_one(ins.mnemonic(), size, one));
                Ok(folded.is_some_and(|folded| self.assign(ins, folded.value, size, folded.flags)))
            }
            _ => self.conditional(ins),
        }
    }

    fn zeroes(&self, ins: &Instruction) -> bool {
        let both = ins.op0_kind() == OpKind::Register && ins.op1_kind() == OpKind::Register;
        both && ins.op0_register() == ins.op1_register()
            && ins.op0_register().size() >= 4
            && matches!(ins.mnemonic(), Mnemonic::Xor | Mnemonic::Sub)
    }

    fn number(&self, ins: &Instruction, n: u32) -> Option<u64> {
        match self.operand(ins, n)? {
            Value::Const { value, .. } => Some(value),
            _ => None,
        }
    }

    fn both(
        &mut self,
        ins: &Instruction,
        size: usize,
        one: Option<u64>,
        other: Option<u64>,
    ) -> bool {
        let (Some(one), Some(other)) = (one, other) else {
            return false;
        };
        let folded = fold(ins.mnemonic(), size, one, other);
        folded.is_some_and(|folded| self.assign(ins, folded.value, size, folded.flags))
    }

    fn compared(&mut self, ins: &Instruction, size: usize) -> bool {
        let (Some(one), Some(other)) = (self.number(ins, 0), self.number(ins, 1)) else {
            return false;
        };
        if let Some(folded) = fold(ins.mnemonic(), size, one, other) {
            self.set_flags(folded.flags);
        }
        true
    }

    /// An address in the object and a number.
    fn moves_address(&mut self, ins: &Instruction) -> bool {
        let (one, other) = (self.operand(ins, 0), self.operand(ins, 1));
        let sum = match (ins.mnemonic(), one, other) {
            (
                Mnemonic::Add,
                Some(Value::Object { address, .. }),
                Some(Value::Const { value, .. }),
            )
            | (
                Mnemonic::Add,
                Some(Value::Const { value, .. }),
                Some(Value::Object { address, .. }),
            ) => address.wrapping_add(value),
            (
                Mnemonic::Sub,
                Some(Value::Object { address, .. }),
                Some(Value::Const { value, .. }),
            ) => address.wrapping_sub(value),
            _ => return false,
        };
        let Some(to) = register_of(ins, 0).filter(|_| operand_size(ins) == 8) else {
            return false;
        };
        self.state.registers[to] = Value::address(sum);
        self.state.flags = CpuFlags::There(RflagsBits::NONE);
        true
    }

    fn moved(&mut self, ins: &Instruction, place: Option<Place>) -> bool {
        let Some(to) = register_of(ins, 0) else {
            return false;
        };
        let size = ins.op0_register().size();
        let from_size = match ins.op1_kind() {
            OpKind::Register => ins.op1_register().size(),
            OpKind::Memory => ins.memory_size().size(),
            _ => size,
        };
        let value = match place {
            Some(Place::Object(address)) => self.constant(address, from_size),
            Some(_) => None,
            None => self.operand(ins, 1),
        };
        match value {
            Some(Value::Const { value, .. }) => {
                let sign = matches!(ins.mnemonic(), Mnemonic::Movsx | Mnemonic::Movsxd);
                let value = if sign {
                    signed(value, from_size)
                } else {
                    value
                };
                self.assign(ins, value, size, Flags::Kept)
            }
            Some(value @ (Value::Object { .. } | Value::Stack(_) | Value::Callers(_)))
                if size == 8 =>
            {
                self.state.registers[to] = value.elsewhere();
                true
            }
            _ => false,
        }
    }

    /// What lies in the object at `address` and never changes.
    fn constant(&self, address: u64, size: usize) -> Option<Value> {
        let mut bytes = [0; 8];
        let buffer = bytes.get_mut(..size)?;
        (self.code.constant(address, buffer) == size)
            .then(|| Value::number(u64::from_le_bytes(bytes)))
    }

    fn address(&mut self, ins: &Instruction, place: Option<Place>) -> bool {
        let Some(to) = register_of(ins, 0) else {
            return false;
        };
        let size = ins.op0_register().size();
        match place {
            Some(Place::Number(value)) => self.assign(ins, value & mask(size), size, Flags::Kept),
            Some(Place::Object(address)) if size == 8 => {
                self.state.registers[to] = Value::address(address);
                true
            }
            _ => false,
        }
    }

    /// Conditional moves and sets whose condition is known.
    fn conditional(&mut self, ins: &Instruction) -> Result<bool, Why> {
        let CpuFlags::Known(flags) = self.state.flags else {
            return Ok(false);
        };
        if ins.rflags_read() & ARITHMETIC == 0 {
            return Ok(false);
        }
        let set = ins.is_setcc_like();
        if !set && !ins.is_cmov_like() {
            return Err(Why::Instruction);
        }
        let holds = holds(condition(ins), flags);
        if set {
            let old = register_of(ins, 0).map(|to| self.state.registers[to]);
            return match old {
                Some(Value::Const { .. }) => Ok(self.assign(ins, u64::from(holds), 1, Flags::Kept)),
                _ => Err(Why::Instruction),
            };
        }
        let Some(to) = register_of(ins, 0).filter(|_| operand_size(ins) == 8) else {
            return Err(Why::Instruction);
        };
        match (holds, self.operand(ins, 1)) {
            (false, _) => Ok(true),
            (true, Some(value)) if !matches!(value, Value::Dynamic { .. }) => {
                self.state.registers[to] = value.elsewhere();
                Ok(true)
            }
            _ => Err(Why::Instruction),
        }
    }

    /// The first operand, a register, becomes `value` of `size` bytes; `false`: it is none, or not
    /// known as a whole.
    fn assign(&mut self, ins: &Instruction, value: u64, size: usize, flags: Flags) -> bool {
        let Some(to) = register_of(ins, 0) else {
            return false;
        };
        let value = match (size, self.state.registers[to]) {
            (4 | 8, _) => value & mask(size),
            (_, Value::Const { value: old, .. }) => old & !mask(size) | value & mask(size),
            _ => return false,
        };
        self.state.registers[to] = Value::number(value);
        self.set_flags(flags);
        true
    }

    fn set_flags(&mut self, flags: Flags) {
        match flags {
            Flags::Kept => {}
            Flags::Known(flags) => self.state.flags = CpuFlags::Known(flags),
            Flags::Unknown => self.state.flags = CpuFlags::There(RflagsBits::NONE),
        }
    }

    /// The instruction stays.
    fn keep(&mut self, ins: &Instruction, place: Option<Place>) -> Result<(), Why> {
        let read = ins.rflags_read() & ARITHMETIC;
        match self.state.flags {
            CpuFlags::There(valid) if read & !valid == 0 => {}
            _ if read == 0 => {}
            _ => return Err(Why::Instruction),
        }
        keep::keep(self.state, self.steps, ins, place)?;
        let modified = ins.rflags_modified() & ARITHMETIC;
        // (A shift by a register may leave them.)
        let variable =
            register_of(ins, 1).is_some() && operand_size(ins) != ins.op1_register().size();
        let shift = matches!(
            ins.mnemonic(),
            Mnemonic::Shl | Mnemonic::Shr | Mnemonic::Sar | Mnemonic::Rol | Mnemonic::Ror
        );
        if modified != 0 && shift && variable {
            self.state.flags = CpuFlags::There(RflagsBits::NONE);
        } else if modified != 0 {
            let before = match self.state.flags {
                CpuFlags::There(valid) => valid,
                CpuFlags::Known(_) => RflagsBits::NONE,
            };
            self.state.flags = CpuFlags::There(before | modified);
        }
        Ok(())
    }
}

fn known_flags(mnemonic: Mnemonic, size: usize) -> Flags {
    fold(mnemonic, size, 0, 0).map_or(Flags::Unknown, |folded| folded.flags)
}

fn writes_rsp(ins: &Instruction) -> bool {
    register_of(ins, 0) == Some(RSP)
        && !matches!(
            ins.mnemonic(),
            Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push
        )
}

/// Kinds of conditional instructions, by their names.
trait Conditional {
    fn is_setcc_like(&self) -> bool;
    fn is_cmov_like(&self) -> bool;
}

impl Conditional for Instruction {
    fn is_setcc_like(&self) -> bool {
        self.op_count() == 1 && self.condition_code() as u8 != 0
    }

    fn is_cmov_like(&self) -> bool {
        self.op_count() == 2 && self.condition_code() as u8 != 0
    }
}
