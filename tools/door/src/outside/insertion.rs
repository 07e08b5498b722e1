//! What a tool inserts, checked on arrival.
#![allow(unsafe_code)]

use crate::address::address;
use crate::table::{
    AppendRow, CallRow, CountRow, Inserter, NO_REGISTER, PartRow, This, ValueRow, value,
};
use alloc::vec::Vec;
use ppin_api::compiler::{
    AppendInsertion, CallInsertion, Condition, CountInsertion, Destination, Insertions, Limits,
    Value,
};
use ppin_api::{BufferId, Call, Counter, ImageOff, MAX_AMOUNT, Outcome, Reg, RoutineId, StateId};

/// Most arguments of a call.
const MAX_ARGS: usize = Call::MAX_ARGS;

/// Takes insertions into a trace of `count` instructions by a tool that has `limits`.
pub struct Taken {
    count: usize,
    limits: Limits,
    /// What was taken.
    pub all: Insertions,
    /// Something was not well formed.
    pub refused: bool,
}

impl Taken {
    pub fn new(count: usize, limits: Limits) -> Self {
        Self {
            count,
            limits,
            all: Insertions::default(),
            refused: false,
        }
    }

    /// As it crosses.
    pub fn inserter(&mut self) -> Inserter {
        Inserter {
            this: core::ptr::from_mut(self).cast(),
            count,
            call,
            append,
        }
    }

    fn count(&mut self, row: &CountRow) -> Option<()> {
        let (counter, limit) = match row.of_image {
            true => (Counter::Image(row.counter), self.limits.image_counters),
            false => (Counter::Global(row.counter), self.limits.global_counters),
        };
        let fits = row.counter < limit && (1..=MAX_AMOUNT).contains(&row.amount);
        let count = CountInsertion {
            ins: self.ins(row.ins).filter(|_| fits)?,
            after: row.after,
            taken: row.taken,
            counter,
            amount: row.amount,
        };
        if self.all.counts.is_empty() {
            self.all.counts.reserve(self.count);
        }
        self.all.counts.push(count);
        Some(())
    }

    fn call(&mut self, row: &CallRow<'_>) -> Option<()> {
        let condition = match row.decided {
            true => Some(self.condition(row)?),
            false => None,
        };
        let fits = usize::from(row.routine) < self.limits.routines.len();
        let call = CallInsertion {
            ins: self.ins(row.ins).filter(|_| fits)?,
            after: row.after,
            taken: row.taken,
            anywhere: row.anywhere,
            predicated: row.predicated,
            condition,
            into: self.target(row)?,
            routine: RoutineId(row.routine),
            args: self.arguments(row.args.get())?,
        };
        self.all.calls.push(call);
        Some(())
    }

    /// Whether the routine with this number is plain and has a result.
    fn has_result(&self, routine: u16) -> Option<bool> {
        let routine = self.limits.routines.get(usize::from(routine))?;
        Some(routine.plain()?.outcome() != Outcome::None)
    }

    /// What the result becomes; the inner `None`: nothing.
    fn target(&self, row: &CallRow<'_>) -> Option<Option<Destination>> {
        if row.into == NO_REGISTER {
            return Some(None);
        }
        let into = Destination::of(row.into, self.argument(&row.address)?);
        let into = into.filter(|_| !row.decided && !row.anywhere);
        self.has_result(row.routine)?.then_some(Some(into?))
    }

    /// What decides about a call: a plain routine with a result.
    fn condition(&self, row: &CallRow<'_>) -> Option<Condition> {
        self.has_result(row.decider)?.then_some(Condition {
            routine: RoutineId(row.decider),
            args: self.arguments(row.decider_args.get())?,
        })
    }

    fn arguments(&self, rows: &[ValueRow]) -> Option<Vec<Value>> {
        let arguments = rows.iter().map(|row| self.argument(row));
        (rows.len() <= MAX_ARGS).then(|| arguments.collect())?
    }

    fn append(&mut self, row: &AppendRow<'_>) -> Option<()> {
        let buffer = self.limits.buffers.get(usize::from(row.buffer))?;
        let part = |part: &PartRow| {
            let field = buffer.fields.get(part.field as usize)?;
            Some((*field, self.argument(&part.value)?))
        };
        let parts = row.fields.get();
        let record = AppendInsertion {
            ins: self
                .ins(row.ins)
                .filter(|_| parts.len() == buffer.fields.len())?,
            after: row.after,
            taken: row.taken,
            buffer: BufferId(row.buffer),
            size: buffer.size,
            fields: parts.iter().map(part).collect::<Option<_>>()?,
        };
        self.all.appends.push(record);
        Some(())
    }

    fn argument(&self, row: &ValueRow) -> Option<Value> {
        Some(match row.kind {
            value::CONST => Value::Const(row.number),
            value::APP => Value::App(ImageOff(row.number as i32)),
            value::REG => Value::Reg(*Reg::ALL.get(usize::try_from(row.number).ok()?)?),
            value::MEMORY => Value::Memory(address(&row.address)),
            value::THREAD => Value::ThreadId,
            value::STATE => {
                let known = self.limits.states.len() as u64;
                Value::State(StateId((row.number < known).then_some(row.number as u16)?))
            }
            _ => return None,
        })
    }

    fn ins(&self, index: u32) -> Option<u32> {
        ((index as usize) < self.count).then_some(index)
    }
}

fn of<'a>(this: This) -> &'a mut Taken {
    // SAFETY: made by `Taken::inserter`, which borrows exclusively while the tool is called.
    unsafe { &mut *this.cast_mut().cast::<Taken>() }
}

extern "C" fn count(this: This, row: &CountRow) {
    let taken = of(this);
    taken.refused |= taken.count(row).is_none();
}

extern "C" fn call(this: This, row: &CallRow<'_>) {
    let taken = of(this);
    taken.refused |= taken.call(row).is_none();
}

extern "C" fn append(this: This, row: &AppendRow<'_>) {
    let taken = of(this);
    taken.refused |= taken.append(row).is_none();
}
