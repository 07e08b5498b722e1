//! What a tool inserts.

use crate::address::address_row;
use crate::table::{
    AppendRow, CallRow, CountRow, Inserter, NO_REGISTER, PartRow, Slice, ValueRow, value,
};
use alloc::vec::Vec;
use ppin_api::Counter;
use ppin_api::compiler::{
    AppendInsertion, CallInsertion, CountInsertion, Destination, Insertions, Value,
};

/// Passes all of it on.
pub fn give(all: &Insertions, to: &Inserter) {
    for count in &all.counts {
        (to.count)(to.this, &count_row(count));
    }
    for call in &all.calls {
        give_call(call, to);
    }
    for record in &all.appends {
        give_record(record, to);
    }
}

fn give_record(record: &AppendInsertion, to: &Inserter) {
    let parts = record.fields.iter().enumerate();
    let fields: Vec<_> = parts
        .map(|(n, (_, value))| PartRow {
            field: n as u32,
            value: value_row(value),
        })
        .collect();
    let row = AppendRow {
        ins: record.ins,
        buffer: record.buffer.0,
        after: record.after,
        taken: record.taken,
        fields: Slice::new(&fields),
    };
    (to.append)(to.this, &row);
}

fn count_row(count: &CountInsertion) -> CountRow {
    let (Counter::Global(counter) | Counter::Image(counter)) = count.counter;
    CountRow {
        ins: count.ins,
        counter,
        amount: count.amount,
        of_image: matches!(count.counter, Counter::Image(_)),
        after: count.after,
        taken: count.taken,
    }
}

fn give_call(call: &CallInsertion, to: &Inserter) {
    let args: Vec<_> = call.args.iter().map(value_row).collect();
    let condition = call.condition.as_ref();
    let decided = condition.iter().flat_map(|condition| &condition.args);
    let decider_args: Vec<_> = decided.map(value_row).collect();
    let row = CallRow {
        ins: call.ins,
        routine: call.routine.0,
        after: call.after,
        taken: call.taken,
        anywhere: call.anywhere,
        predicated: call.predicated,
        decided: condition.is_some(),
        decider: condition.map_or(0, |condition| condition.routine.0),
        into: call.into.map_or(NO_REGISTER, Destination::number),
        address: match &call.into {
            Some(Destination::Memory(address, _)) => value_row(address),
            _ => ValueRow::default(),
        },
        args: Slice::new(&args),
        decider_args: Slice::new(&decider_args),
    };
    (to.call)(to.this, &row);
}

fn value_row(given: &Value) -> ValueRow {
    let row = |kind, number| ValueRow {
        kind,
        number,
        ..ValueRow::default()
    };
    match *given {
        Value::Const(number) => row(value::CONST, number),
        Value::App(offset) => row(value::APP, offset.0 as u64),
        Value::Reg(reg) => row(value::REG, reg as u64),
        Value::ThreadId => row(value::THREAD, 0),
        Value::State(id) => row(value::STATE, id.0.into()),
        Value::Memory(address) => ValueRow {
            address: address_row(&address),
            ..row(value::MEMORY, 0)
        },
    }
}
