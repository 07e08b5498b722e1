//! Instructions.

use super::sight::Sight;
use crate::buffer::BufferId;
use crate::insert::{Arg, Counter, IPoint, MAX_AMOUNT, Refused};
use crate::insertions::{AppendInsertion, CountInsertion, Value};
use crate::opcode::Opcode;
use crate::operand::MemoryOperand;
use crate::source::{Category, Predicate};
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, ImageOff};
use ppin_abi::record::MAX_ARGS;

/// An instruction of a trace: what it is, and the place to insert at.
#[derive(Clone, Copy)]
pub struct Ins<'t> {
    pub(super) sight: &'t Sight<'t>,
    pub(super) index: usize,
}

impl<'t> Ins<'t> {
    /// Instruction `index`, which is below the number of them.
    pub(super) const fn new(sight: &'t Sight<'t>, index: usize) -> Self {
        Self { sight, index }
    }

    /// App address.
    #[must_use]
    pub fn pc(&self) -> AppPc {
        self.sight.source.pc(self.index)
    }

    /// The same as an offset in the image; `None` if the image's base is too far.
    #[must_use]
    pub fn image_offset(&self) -> Option<ImageOff> {
        self.pc().offset_from(self.sight.image)
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.sight.source.len(self.index)
    }

    /// Never: an instruction has at least one byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Its mnemonic.
    #[must_use]
    pub fn opcode(&self) -> Opcode {
        self.sight.source.opcode(self.index)
    }

    /// What it does to the flow of control.
    #[must_use]
    pub fn category(&self) -> Category {
        self.sight.source.category(self.index)
    }

    /// Whether it is a jump or branch of any form (not a call, not a return).
    #[must_use]
    pub fn is_branch(&self) -> bool {
        matches!(
            self.category(),
            Category::Jump | Category::ConditionalBranch | Category::IndirectJump
        )
    }

    /// Whether it is a call of any form.
    #[must_use]
    pub fn is_call(&self) -> bool {
        matches!(self.category(), Category::Call | Category::IndirectCall)
    }

    /// Whether it is a return.
    #[must_use]
    pub fn is_return(&self) -> bool {
        self.category() == Category::Return
    }

    /// Whether it is a system call.
    #[must_use]
    pub fn is_syscall(&self) -> bool {
        self.category() == Category::Syscall
    }

    /// Whether it is a string instruction that repeats. It counts once.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.sight.source.is_repeated(self.index)
    }

    /// Whether it does its work whenever it is executed (see [`Self::insert_predicated_call`]).
    #[must_use]
    pub fn predicate(&self) -> Predicate {
        self.sight.source.predicate(self.index)
    }

    /// Target of a direct branch or call.
    #[must_use]
    pub fn branch_target(&self) -> Option<AppPc> {
        self.sight.source.target(self.index)
    }

    /// The memory that it reads and writes, implicit operands included.
    #[must_use]
    pub fn memory_operands(&self) -> Vec<MemoryOperand> {
        self.sight.source.memory_operands(self.index)
    }

    /// Adds `amount` to `counter` whenever this instruction is executed: an
    /// instruction that faults is not counted. Additions of one block are merged,
    /// so an analysis routine must not look at counters.
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted.
    pub fn insert_count(
        &self,
        point: IPoint,
        counter: Counter,
        amount: u32,
    ) -> Result<(), Refused> {
        let after = self.is_after(point)?;
        let limit = match counter {
            Counter::Global(_) => self.sight.limits.global_counters,
            Counter::Image(_) => self.sight.limits.image_counters,
        };
        let (Counter::Global(number) | Counter::Image(number)) = counter;
        if number >= limit {
            return Err(Refused::Counter);
        }
        if amount == 0 || amount > MAX_AMOUNT {
            return Err(Refused::Amount);
        }
        self.sight.insert_count(CountInsertion {
            ins: self.index as u32,
            after,
            taken: self.is_taken(point),
            counter,
            amount,
        });
        Ok(())
    }

    /// Appends a record to a buffer of the thread. `args` are its fields, in their order; of a value
    /// that is too long for its field the low bytes are kept. Records of one thread lie in the order
    /// of execution; an instruction that faults has its record, and one more if it is tried again.
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted.
    pub fn append(&self, point: IPoint, buffer: BufferId, args: &[Arg]) -> Result<(), Refused> {
        let after = self.is_after(point)?;
        let declared = self.sight.limits.buffers.get(usize::from(buffer.0));
        let declared = declared.ok_or(Refused::Buffer)?;
        if args.len() != declared.fields.len() || args.len() > MAX_ARGS {
            return Err(Refused::Fields);
        }
        let values = args.iter().map(|&arg| self.value(arg, after));
        let fields = declared.fields.iter().copied().zip(values);
        let fields = fields.map(|(field, value)| Ok((field, value?)));
        self.sight.append(AppendInsertion {
            ins: self.index as u32,
            after,
            taken: self.is_taken(point),
            buffer,
            size: declared.size,
            fields: fields.collect::<Result<_, _>>()?,
        });
        Ok(())
    }

    /// Whether only a taken branch passes `point`.
    pub(super) fn is_taken(&self, point: IPoint) -> bool {
        let decides = self.category() == Category::ConditionalBranch;
        point == IPoint::TakenBranch && decides && self.sight.source.falls_through(self.index)
    }

    /// Whether `point` lies behind the instruction, on the way to the next one or to its target.
    pub(super) fn is_after(&self, point: IPoint) -> Result<bool, Refused> {
        let falls_through = || self.sight.source.falls_through(self.index);
        match point {
            IPoint::Before | IPoint::Anywhere => Ok(false),
            IPoint::After if falls_through() => Ok(true),
            IPoint::After => Err(Refused::Point),
            IPoint::TakenBranch => match self.category() {
                Category::ConditionalBranch if falls_through() => Ok(true),
                Category::Jump | Category::Call | Category::ConditionalBranch => Ok(false),
                _ => Err(Refused::Point),
            },
        }
    }

    pub(super) fn value(&self, arg: Arg, after: bool) -> Result<Value, Refused> {
        let app = |pc: AppPc| pc.offset_from(self.sight.image).map(Value::App);
        match arg {
            Arg::Const(value) => Ok(Value::Const(value)),
            Arg::InsAddr => app(self.pc()).ok_or(Refused::Target),
            Arg::NextAddr => app(self.next()).ok_or(Refused::Target),
            Arg::Reg(reg) => Ok(Value::Reg(reg)),
            Arg::MemoryEa(_) if after => Err(Refused::Operand),
            Arg::MemoryEa(operand) => {
                let address = self.operand(operand)?.address;
                address.map(Value::Memory).ok_or(Refused::Operand)
            }
            Arg::MemorySize(operand) => {
                let size = self.operand(operand)?.size;
                Ok(Value::Const(u64::from(size)))
            }
            Arg::BranchTarget => self.branch_target().and_then(app).ok_or(Refused::Target),
            Arg::ThreadId => Ok(Value::ThreadId),
            Arg::State(id) => Ok(Value::State(id)),
        }
    }

    /// App address of its successor.
    fn next(&self) -> AppPc {
        self.pc().wrapping_add(u64::from(self.len()))
    }

    fn operand(&self, index: usize) -> Result<MemoryOperand, Refused> {
        self.memory_operands()
            .get(index)
            .copied()
            .ok_or(Refused::Operand)
    }
}
