//! The view of a trace that a tool walks.

use super::insert::{CallInsertion, CountInsertion, Insertions};
use super::operand::{image_arg, plain_arg, reg_arg};
use super::{Arg, Counter, IPoint, MAX_AMOUNT, MemoryOperand, Opcode, Refused, RoutineId, Tool};
use crate::decode::{self, Kind};
use alloc::vec::Vec;
use core::cell::RefCell;
use iced_x86::InstructionInfoFactory;
use ppin_abi::addr::{AppPc, ImageBase, ImageOff};
use ppin_abi::area::GLOBAL_COUNTERS;
use ppin_abi::context::Context;
use ppin_abi::record::{ArgKind, CallArg, MAX_ARGS};

/// A straight piece of code, entered at its head only, left at many places.
pub struct Trace<'a> {
    instructions: &'a [decode::Ins],
    image: ImageBase,
    context: Context,
    image_counters: u32,
    routines: usize,
    inserted: RefCell<Insertions>,
    factory: RefCell<Option<InstructionInfoFactory>>,
}

impl<'a> Trace<'a> {
    pub(crate) fn new(
        instructions: &'a [decode::Ins],
        image: ImageBase,
        context: Context,
        tool: &dyn Tool,
    ) -> Self {
        Self {
            instructions,
            image,
            context,
            image_counters: tool.image_counters(),
            routines: tool.routines().len(),
            inserted: RefCell::default(),
            factory: RefCell::default(),
        }
    }

    pub(crate) fn into_insertions(self) -> Insertions {
        self.inserted.into_inner()
    }

    /// App address of its head.
    #[must_use]
    pub fn pc(&self) -> AppPc {
        self.instructions.first().map_or(AppPc(0), decode::Ins::pc)
    }

    /// Its blocks, in order.
    pub fn bbls(&self) -> impl Iterator<Item = Bbl<'_>> {
        let mut start = 0;
        core::iter::from_fn(move || {
            let rest = self.instructions.get(start..)?;
            let len = block_len(rest)?;
            let bbl = Bbl {
                trace: self,
                start,
                len,
            };
            start += len;
            Some(bbl)
        })
    }

    /// All its instructions, in order.
    pub fn ins(&self) -> impl Iterator<Item = Ins<'_>> {
        (0..self.instructions.len()).map(|index| Ins { trace: self, index })
    }
}

/// Instructions up to and with the one that ends the first block of `rest`.
fn block_len(rest: &[decode::Ins]) -> Option<usize> {
    if rest.is_empty() {
        return None;
    }
    let last = rest.iter().position(|ins| ins.kind.ends_block());
    Some(last.map_or(rest.len(), |index| index + 1))
}

/// A block: ends at a control transfer or a system call, or where the trace does.
#[derive(Clone, Copy)]
pub struct Bbl<'t> {
    trace: &'t Trace<'t>,
    start: usize,
    len: usize,
}

impl<'t> Bbl<'t> {
    /// App address of its first instruction.
    #[must_use]
    pub fn pc(&self) -> AppPc {
        self.first().pc()
    }

    /// Whether it goes on with a block that an earlier trace began: it is then no
    /// new block. Known only to tools that ask for it
    /// ([`Tool::distinguishes_blocks`]).
    #[must_use]
    pub fn is_continuation(&self) -> bool {
        self.start == 0 && self.trace.context.contains(Context::CONTINUATION)
    }

    /// Its first instruction.
    #[must_use]
    pub fn first(&self) -> Ins<'t> {
        Ins {
            trace: self.trace,
            index: self.start,
        }
    }

    /// Its instructions, in order; at least one.
    pub fn ins(&self) -> impl Iterator<Item = Ins<'t>> + use<'t> {
        let trace = self.trace;
        (self.start..self.start + self.len).map(move |index| Ins { trace, index })
    }
}

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

/// An instruction of a trace: what it is, and the place to insert at.
#[derive(Clone, Copy)]
pub struct Ins<'t> {
    trace: &'t Trace<'t>,
    index: usize,
}

impl<'t> Ins<'t> {
    fn decoded(&self) -> &'t decode::Ins {
        &self.trace.instructions[self.index]
    }

    /// App address.
    #[must_use]
    pub fn pc(&self) -> AppPc {
        self.decoded().pc()
    }

    /// The same as an offset in the image; `None` if the image's base is too far.
    #[must_use]
    pub fn image_offset(&self) -> Option<ImageOff> {
        self.pc().offset_from(self.trace.image)
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.decoded().len()
    }

    /// Never: an instruction has at least one byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Its mnemonic.
    #[must_use]
    pub fn opcode(&self) -> Opcode {
        Opcode(self.decoded().raw.mnemonic() as u16)
    }

    /// What it does to the flow of control.
    #[must_use]
    pub fn category(&self) -> Category {
        match self.decoded().kind {
            Kind::Verbatim | Kind::RipRelative | Kind::PopFlags | Kind::GsMemory | Kind::GsBase => {
                Category::Plain
            }
            Kind::Jump => Category::Jump,
            Kind::CondJump | Kind::ShortJump | Kind::TransactionBegin => {
                Category::ConditionalBranch
            }
            Kind::Call => Category::Call,
            Kind::IndirectJump => Category::IndirectJump,
            Kind::IndirectCall => Category::IndirectCall,
            Kind::Ret => Category::Return,
            Kind::Syscall => Category::Syscall,
            Kind::Faulting | Kind::Trap(_) => Category::Exception,
        }
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
        let raw = &self.decoded().raw;
        raw.is_string_instruction() && (raw.has_rep_prefix() || raw.has_repne_prefix())
    }

    /// Target of a direct branch or call.
    #[must_use]
    pub fn branch_target(&self) -> Option<AppPc> {
        let ins = self.decoded();
        ins.kind.is_direct_branch().then(|| ins.target())
    }

    /// The memory that it reads and writes, implicit operands included.
    #[must_use]
    pub fn memory_operands(&self) -> Vec<MemoryOperand> {
        let mut factory = self.trace.factory.borrow_mut();
        let raw = &self.decoded().raw;
        let info = factory
            .get_or_insert_with(InstructionInfoFactory::new)
            .info(raw);
        info.used_memory()
            .iter()
            .filter_map(|used| MemoryOperand::of(used, raw, self.trace.image))
            .collect()
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
            Counter::Global(_) => GLOBAL_COUNTERS as u32,
            Counter::Image(_) => self.trace.image_counters,
        };
        let (Counter::Global(number) | Counter::Image(number)) = counter;
        if number >= limit {
            return Err(Refused::Counter);
        }
        if amount == 0 || amount > MAX_AMOUNT {
            return Err(Refused::Amount);
        }
        self.trace
            .inserted
            .borrow_mut()
            .counts
            .push(CountInsertion {
                ins: self.index as u32,
                after,
                counter,
                amount,
            });
        Ok(())
    }

    /// Calls an analysis routine. Several calls at one place run in the order of
    /// their insertion.
    ///
    /// # Errors
    /// What cannot be granted; then nothing was inserted.
    pub fn insert_call(
        &self,
        point: IPoint,
        routine: RoutineId,
        args: &[Arg],
    ) -> Result<(), Refused> {
        let after = self.is_after(point)?;
        if usize::from(routine.0) >= self.trace.routines {
            return Err(Refused::Routine);
        }
        if args.len() > MAX_ARGS {
            return Err(Refused::Arguments);
        }
        let args = args
            .iter()
            .map(|&arg| self.call_arg(arg, after))
            .collect::<Result<_, _>>()?;
        self.trace.inserted.borrow_mut().calls.push(CallInsertion {
            ins: self.index as u32,
            after,
            routine,
            args,
        });
        Ok(())
    }

    /// Whether `point` lies behind the instruction, on the way to the next one.
    fn is_after(&self, point: IPoint) -> Result<bool, Refused> {
        let kind = self.decoded().kind;
        match point {
            IPoint::Before | IPoint::Anywhere => Ok(false),
            IPoint::After if kind.falls_through() => Ok(true),
            IPoint::TakenBranch => match kind {
                Kind::Jump | Kind::Call | Kind::TransactionBegin => Ok(false),
                Kind::CondJump | Kind::ShortJump => Err(Refused::TakenSide),
                _ => Err(Refused::Point),
            },
            IPoint::After => Err(Refused::Point),
        }
    }

    fn call_arg(&self, arg: Arg, after: bool) -> Result<CallArg, Refused> {
        let app = |pc| image_arg(ArgKind::AppAddr, pc, self.trace.image).ok_or(Refused::Target);
        match arg {
            Arg::Const(value) => Ok(plain_arg(ArgKind::Const, value)),
            Arg::InsAddr => app(self.pc()),
            Arg::NextAddr => app(self.decoded().next()),
            Arg::Reg(reg) => Ok(reg_arg(reg)),
            Arg::MemoryEa(_) if after => Err(Refused::Operand),
            Arg::MemoryEa(operand) => self.operand(operand)?.address.ok_or(Refused::Operand),
            Arg::MemorySize(operand) => {
                let size = self.operand(operand)?.size;
                Ok(plain_arg(ArgKind::Const, u64::from(size)))
            }
            Arg::BranchTarget => app(self.branch_target().ok_or(Refused::Target)?),
            Arg::ThreadId => Ok(plain_arg(ArgKind::ThreadId, 0)),
        }
    }

    fn operand(&self, index: usize) -> Result<MemoryOperand, Refused> {
        self.memory_operands()
            .get(index)
            .copied()
            .ok_or(Refused::Operand)
    }
}
