//! What is known of registers and of the stack while a routine is walked through.

use crate::body::{Virtual, Why};
use crate::operand::register_of;
use alloc::collections::BTreeMap;
use iced_x86::Instruction;

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    /// Nothing that the routine may use: what the caller has in it.
    Callers(Virtual),
    /// A number. `there`: the virtual register holds it, too.
    Const { value: u64, there: bool },
    /// An address in the routine's object, as it lies while the code is read.
    Object { address: u64, there: bool },
    /// The stack pointer at the routine's entry plus this.
    Stack(i64),
    /// Something that the virtual register holds. `pointer`: it may be an address that the routine
    /// has from its states.
    Dynamic { pointer: bool },
}

impl Value {
    pub(crate) const fn number(value: u64) -> Self {
        Self::Const {
            value,
            there: false,
        }
    }

    pub(crate) const fn address(address: u64) -> Self {
        Self::Object {
            address,
            there: false,
        }
    }

    pub(crate) const fn is_pointer(self) -> bool {
        matches!(
            self,
            Self::Dynamic { pointer: true } | Self::Object { .. } | Self::Stack(_)
        )
    }

    /// The same, but no virtual register holds it.
    pub(crate) const fn elsewhere(self) -> Self {
        match self {
            Self::Const { value, .. } => Self::number(value),
            Self::Object { address, .. } => Self::address(address),
            other => other,
        }
    }
}

/// What is known of the arithmetic flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CpuFlags {
    /// They are these; the processor does not have them.
    Known(u32),
    /// The processor has these of them; the others are lost.
    There(u32),
}

/// Number of the stack pointer.
pub(crate) const RSP: usize = 4;

/// What is known at one place.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub registers: [Value; 16],
    /// Values on the stack, by their distance from its top at the entry. Nothing else is there.
    stack: BTreeMap<i64, Value>,
    /// The flags.
    pub flags: CpuFlags,
    /// Something has been written to memory.
    pub stored: bool,
}

impl State {
    /// At the routine's entry.
    pub(crate) fn at_entry() -> Self {
        let mut registers = [Value::Callers(0); 16];
        for (number, value) in registers.iter_mut().enumerate() {
            *value = Value::Callers(number as u8);
        }
        registers[RSP] = Value::Stack(0);
        Self {
            registers,
            stack: BTreeMap::new(),
            flags: CpuFlags::There(0),
            stored: false,
        }
    }

    /// Where an indirect jump through a register leads.
    pub(crate) fn known_target(&self, ins: &Instruction) -> Option<u64> {
        match self.registers[register_of(ins, 0)?] {
            Value::Object { address, .. } => Some(address),
            _ => None,
        }
    }

    /// The stack pointer.
    pub(crate) fn stack_pointer(&self) -> Result<i64, Why> {
        match self.registers[RSP] {
            Value::Stack(at) => Ok(at),
            _ => Err(Why::Stack),
        }
    }

    pub(crate) fn move_stack(&mut self, by: i64) -> Result<(), Why> {
        let at = self.stack_pointer()? + by;
        self.registers[RSP] = Value::Stack(at);
        Ok(())
    }

    /// Keeps `value` on the stack. What only a virtual register holds cannot be kept.
    pub(crate) fn keep(&mut self, at: i64, value: Value) -> Result<(), Why> {
        if matches!(value, Value::Dynamic { .. }) || at >= 0 {
            return Err(Why::Stack);
        }
        self.stack.retain(|other, _| (*other - at).abs() >= 8);
        self.stack.insert(at, value.elsewhere());
        Ok(())
    }

    /// What was kept there.
    pub(crate) fn kept(&self, at: i64) -> Result<Value, Why> {
        self.stack.get(&at).copied().ok_or(Why::Stack)
    }
}
