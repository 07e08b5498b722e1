//! What a compiler tells of the instructions that it translates.

use crate::opcode::Opcode;
use crate::operand::MemoryOperand;
use alloc::vec::Vec;
use ppin_abi::addr::AppPc;

/// What kind of instruction it is, as far as control goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    /// Goes on with the next one.
    Plain,
    /// `jmp` to a fixed target.
    Jump,
    /// Branch on a condition, `loop` and `jrcxz` included.
    ConditionalBranch,
    /// `jmp` through a register or memory.
    IndirectJump,
    /// `call` of a fixed target.
    Call,
    /// `call` through a register or memory.
    IndirectCall,
    /// `ret`.
    Return,
    /// A system call.
    Syscall,
    /// Raises an exception: `int3`, `ud2`, privileged, unknown to ppin.
    Exception,
}

impl Category {
    /// Whether a block ends behind it.
    pub(crate) const fn ends_block(self) -> bool {
        !matches!(self, Self::Plain)
    }
}

/// An instruction, as far as every tool may want to know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// App address.
    pub pc: AppPc,
    /// Length in bytes.
    pub len: u32,
    /// Mnemonic.
    pub opcode: Opcode,
    /// What it does to the flow of control.
    pub category: Category,
    /// Whether control ever goes on behind it within the trace.
    pub falls_through: bool,
    /// Whether it is a string instruction that repeats.
    pub repeated: bool,
    /// Target of a direct branch or call.
    pub target: Option<AppPc>,
}

/// The instructions of one trace, in order. A compiler hands it to [`crate::Trace::new`].
pub trait Source {
    /// How many there are.
    fn count(&self) -> usize;

    /// Instruction `index`, which is below [`Source::count`].
    fn facts(&self, index: usize) -> Facts;

    /// What memory it reads and writes, implicit operands included. Costs more than the
    /// facts, so it is asked for apart.
    fn memory_operands(&self, index: usize) -> Vec<MemoryOperand>;
}
