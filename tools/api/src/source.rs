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
    /// All of them, each at its number.
    pub const ALL: [Self; 9] = [
        Self::Plain,
        Self::Jump,
        Self::ConditionalBranch,
        Self::IndirectJump,
        Self::Call,
        Self::IndirectCall,
        Self::Return,
        Self::Syscall,
        Self::Exception,
    ];

    /// Whether a block ends behind it.
    pub(crate) const fn ends_block(self) -> bool {
        !matches!(self, Self::Plain)
    }
}

/// Whether an instruction does its work whenever it is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// It does.
    None,
    /// Only if flags or a count say so: conditional moves, string instructions that repeat.
    Told,
    /// Only where a mask says so, perhaps nowhere.
    Masked,
}

/// The instructions of one trace, in order. A compiler hands it to [`crate::Trace::new`]. It is
/// asked for what a tool asks for, and every `index` is below [`Source::count`].
pub trait Source {
    /// How many there are.
    fn count(&self) -> usize;

    /// App address of an instruction.
    fn pc(&self, index: usize) -> AppPc;

    /// Its length in bytes.
    fn len(&self, index: usize) -> u32;

    /// Its mnemonic.
    fn opcode(&self, index: usize) -> Opcode;

    /// What it does to the flow of control.
    fn category(&self, index: usize) -> Category;

    /// Whether control ever goes on behind it within the trace.
    fn falls_through(&self, index: usize) -> bool;

    /// Whether it is a string instruction that repeats.
    fn is_repeated(&self, index: usize) -> bool;

    /// Whether it does its work whenever it is executed.
    fn predicate(&self, index: usize) -> Predicate;

    /// Target of a direct branch or call.
    fn target(&self, index: usize) -> Option<AppPc>;

    /// What memory it reads and writes, implicit operands included.
    fn memory_operands(&self, index: usize) -> Vec<MemoryOperand>;
}
