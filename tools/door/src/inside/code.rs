//! The code that a tool looks at.

use crate::address::address;
use crate::table::{Code, Each, InsRow, OperandRow};
use alloc::vec::Vec;
use ppin_api::compiler::Source;
use ppin_api::{Access, AppPc, Category, ImageBase, MemoryOperand, Opcode, Predicate};

/// A trace on the other side; its instructions were fetched, their operands are on demand.
pub struct Remote<'a> {
    code: &'a Code,
    ins: Vec<InsRow>,
}

impl<'a> Remote<'a> {
    pub fn new(code: &'a Code) -> Self {
        let mut ins = Vec::with_capacity(code.count);
        let mut take = |row: &InsRow| ins.push(*row);
        (code.ins)(code.this, Each::new(&mut take));
        Self { code, ins }
    }

    pub fn image(&self) -> ImageBase {
        ImageBase(self.code.image)
    }

    fn is(&self, index: usize, flag: u32) -> bool {
        self.ins[index].flags & flag != 0
    }
}

impl Source for Remote<'_> {
    fn count(&self) -> usize {
        self.ins.len()
    }

    fn pc(&self, index: usize) -> AppPc {
        AppPc(self.ins[index].pc)
    }

    fn len(&self, index: usize) -> u32 {
        self.ins[index].len
    }

    fn opcode(&self, index: usize) -> Opcode {
        let opcode = Opcode::from_index(self.ins[index].opcode);
        opcode.expect("both sides have the same opcodes")
    }

    fn category(&self, index: usize) -> Category {
        let number = self.ins[index].category as usize;
        *Category::ALL.get(number).unwrap_or(&Category::Exception)
    }

    fn falls_through(&self, index: usize) -> bool {
        self.is(index, InsRow::FALLS_THROUGH)
    }

    fn is_repeated(&self, index: usize) -> bool {
        self.is(index, InsRow::REPEATED)
    }

    fn predicate(&self, index: usize) -> Predicate {
        match () {
            () if self.is(index, InsRow::MASKED) => Predicate::Masked,
            () if self.is(index, InsRow::TOLD) => Predicate::Told,
            () => Predicate::None,
        }
    }

    fn target(&self, index: usize) -> Option<AppPc> {
        let target = AppPc(self.ins[index].target);
        self.is(index, InsRow::TARGET).then_some(target)
    }

    fn memory_operands(&self, index: usize) -> Vec<MemoryOperand> {
        let mut all = Vec::new();
        let mut take = |row: &OperandRow| all.push(operand(row));
        (self.code.operands)(self.code.this, index, Each::new(&mut take));
        all
    }
}

fn operand(row: &OperandRow) -> MemoryOperand {
    MemoryOperand {
        access: match row.access {
            1 => Access::Read,
            2 => Access::Write,
            _ => Access::ReadWrite,
        },
        size: row.size,
        conditional: row.conditional,
        address: row.has_address.then(|| address(&row.address)),
    }
}
