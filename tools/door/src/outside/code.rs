//! The code that a tool looks at.
#![allow(unsafe_code)]

use crate::address::address_row;
use crate::table::{self, Each, InsRow, OperandRow, This};
use ppin_api::compiler::{Code, Source};
use ppin_api::{Access, MemoryOperand, Predicate};

/// A trace as it crosses.
pub fn code<'a>(code: &'a Code<'a>) -> table::Code {
    table::Code {
        this: core::ptr::from_ref(&code.source).cast(),
        count: code.source.count(),
        image: code.image.0,
        continues: code.continues,
        ins,
        operands,
    }
}

fn of<'a>(this: This) -> &'a dyn Source {
    // SAFETY: made by `code`, whose argument outlives the call.
    unsafe { *this.cast::<&dyn Source>() }
}

extern "C" fn ins(this: This, each: Each<InsRow>) {
    let source = of(this);
    (0..source.count()).for_each(|index| each.give(&row(source, index)));
}

fn row(source: &dyn Source, index: usize) -> InsRow {
    let target = source.target(index);
    let flag = |on, bit| if on { bit } else { 0 };
    InsRow {
        pc: source.pc(index).0,
        target: target.map_or(0, |target| target.0),
        len: source.len(index),
        opcode: source.opcode(index).index(),
        category: source.category(index) as u32,
        flags: flag(target.is_some(), InsRow::TARGET)
            | flag(source.falls_through(index), InsRow::FALLS_THROUGH)
            | flag(source.is_repeated(index), InsRow::REPEATED)
            | match source.predicate(index) {
                Predicate::None => 0,
                Predicate::Told => InsRow::TOLD,
                Predicate::Masked => InsRow::MASKED,
            },
    }
}

extern "C" fn operands(this: This, index: usize, each: Each<OperandRow>) {
    let source = of(this);
    if index < source.count() {
        let operands = source.memory_operands(index);
        operands.iter().for_each(|one| each.give(&operand(one)));
    }
}

fn operand(operand: &MemoryOperand) -> OperandRow {
    OperandRow {
        access: match operand.access {
            Access::Read => 1,
            Access::Write => 2,
            Access::ReadWrite => 3,
        },
        size: operand.size,
        conditional: operand.conditional,
        has_address: operand.address.is_some(),
        address: operand
            .address
            .as_ref()
            .map(address_row)
            .unwrap_or_default(),
    }
}
