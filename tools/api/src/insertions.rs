//! What a tool inserted into a trace, checked, for the compiler to translate.

use crate::buffer::{BufferId, Field};
use crate::insert::{Counter, RoutineId};
use crate::operand::Address;
use crate::register::Reg;
use crate::state::StateId;
use alloc::vec::Vec;
use ppin_abi::addr::ImageOff;

/// A granted count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountInsertion {
    /// Index of the instruction in the trace.
    pub ins: u32,
    /// Whether it is made on the way behind the instruction.
    pub after: bool,
    /// Whether that is the way to where the branch leads.
    pub taken: bool,
    /// What is added to.
    pub counter: Counter,
    /// How much.
    pub amount: u32,
}

/// A granted call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallInsertion {
    /// Index of the instruction in the trace.
    pub ins: u32,
    /// Whether it is made on the way behind the instruction.
    pub after: bool,
    /// Whether that is the way to where the branch leads.
    pub taken: bool,
    /// Whether it may be made anywhere in the block of the instruction.
    pub anywhere: bool,
    /// Whether it is made only if the instruction, before which it stands, does its work.
    pub predicated: bool,
    /// A call that is made before it, and decides whether it is made.
    pub condition: Option<Condition>,
    /// What its result is for, if it has none that decides.
    pub into: Option<Destination>,
    /// What is called.
    pub routine: RoutineId,
    /// What it is called with.
    pub args: Vec<Value>,
}

/// What of the program a routine's result becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// The value of a register: not rsp.
    Register(Reg),
    /// Where it goes on, if it is not 0.
    ProgramCounter,
    /// What lies in its memory at this address, of so many bytes: 1, 2, 4 or 8.
    Memory(Value, u8),
}

impl Destination {
    /// Number of the program counter, behind those of the registers.
    const PC: u8 = 16;
    /// Number of a byte of memory; behind it, of 2, 4 and 8 bytes.
    const BYTE: u8 = 17;
    /// Behind the last number.
    const END: u8 = Self::BYTE + 4;

    /// Its number: that of the register, or one behind them. That of memory does not say where it is.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Register(reg) => reg as u8,
            Self::ProgramCounter => Self::PC,
            Self::Memory(_, bytes) => Self::BYTE + bytes.trailing_zeros() as u8,
        }
    }

    /// That with this number, if it may be one; if it is memory, at `address`.
    #[must_use]
    pub fn of(number: u8, address: Value) -> Option<Self> {
        match Reg::ALL.get(usize::from(number)) {
            Some(Reg::Rsp) => None,
            Some(reg) => Some(Self::Register(*reg)),
            None if number == Self::PC => Some(Self::ProgramCounter),
            None if (Self::BYTE..Self::END).contains(&number) && address.is_of_the_app() => {
                Some(Self::Memory(address, 1 << (number - Self::BYTE)))
            }
            None => None,
        }
    }
}

/// The call of a plain routine with a result: 0 says no.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// What is called.
    pub routine: RoutineId,
    /// What it is called with.
    pub args: Vec<Value>,
}

/// A granted record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppendInsertion {
    /// Index of the instruction in the trace.
    pub ins: u32,
    /// Whether it is made on the way behind the instruction.
    pub after: bool,
    /// Whether that is the way to where the branch leads.
    pub taken: bool,
    /// What it is appended to.
    pub buffer: BufferId,
    /// Bytes of the record.
    pub size: u32,
    /// Its fields and what they are.
    pub fields: Vec<(Field, Value)>,
}

/// An argument of a call, or a field of a record. It names no address of this run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number.
    Const(u64),
    /// App address of a place in the image.
    App(ImageOff),
    /// App value of a register.
    Reg(Reg),
    /// Address of a memory operand.
    Memory(Address),
    /// Number of the thread.
    ThreadId,
    /// Address of the thread's copy of a state.
    State(StateId),
}

impl Value {
    /// Whether it may be an address of the program's memory.
    pub(crate) const fn is_of_the_app(&self) -> bool {
        !matches!(self, Self::ThreadId | Self::State(_))
    }

    /// Whether it is the same before all instructions.
    #[must_use]
    pub const fn is_fixed(self) -> bool {
        !matches!(self, Self::Reg(_) | Self::Memory(_))
    }
}

/// All that a tool inserted into one trace, each list in order of insertion.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Insertions {
    /// Counts.
    pub counts: Vec<CountInsertion>,
    /// Calls.
    pub calls: Vec<CallInsertion>,
    /// Records.
    pub appends: Vec<AppendInsertion>,
}

impl Insertions {
    /// Whether nothing was inserted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.calls.is_empty() && self.appends.is_empty()
    }
}
