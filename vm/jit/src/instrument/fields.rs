//! Records, stored in line: those of one station ([`super::station`]) together.
//!
//! ```text
//!       cmp byte gs:[position + 3], 0; jne full         flags dead
//!       or:  movzx ecx, byte gs:[position + 3]
//!            jrcxz room; jmp full
//!      room:
//!       p = gs:[position]
//!       v = address of an operand
//!       gs:[p + memory + field] = v                     and so on
//!       p = p + bytes; gs:[position] = p                with the last record of the block
//!
//! full: lea rcx, [rip + record]; jmp gs:[Entry::Bridge] behind the trace; comes back to the look
//! ```
//! See [`ppin_abi::buffers`] for positions.

use super::append::{Batch, Records};
use ppin_abi::addr::ImageOff;
use ppin_abi::area::{APP_GS_BASE, Calls};
use ppin_abi::buffers;
use ppin_api::compiler::{AppendInsertion, Value};
use ppin_api::{Address, Field, Segment};
use ppin_form::{
    Cell, Form, Gpr, InsId, Label, Need, Op, Record, Reg, RegSet, Sum, Temp, Temps, Width,
};
use ppin_liveness::registers::farthest;
use ppin_relocator::CountRow;

/// Whether a record can be stored in line.
pub(super) fn fits(record: &AppendInsertion) -> bool {
    let mut values = record.fields.iter().map(|(_, value)| *value);
    !record.after && record.size <= buffers::MOST_RECORD && values.all(is_simple)
}

fn is_simple(value: Value) -> bool {
    match value {
        Value::State(_) => false,
        Value::Memory(Address::Sum { displacement, .. }) => short(displacement).is_some(),
        _ => true,
    }
}

fn short(value: u64) -> Option<i32> {
    i32::try_from(value.cast_signed()).ok()
}

/// What `batch` does before instruction `ins`.
pub(super) fn lower(form: &mut Form, records: &Records, batch: &Batch, ins: InsId) {
    let here = u32::from(ins.0);
    let all = &records.all[batch.records.clone()];
    let stations = &records.stations[batch.records.clone()];
    let start = stations.partition_point(|station| *station < here);
    let end = stations.partition_point(|station| *station <= here);
    let mine = &all[start..end];
    let named = mine
        .iter()
        .fold(RegSet::NONE, |set, record| set.or(names(record)));
    let needs = farthest(&records.touched, usize::from(ins.0), named);
    let mut pointer = None;
    if batch.looks && batch.check == here {
        let shared = !mine.is_empty() && !named.contains(Gpr::RCX);
        pointer = look(form, batch, ins, shared.then_some(needs));
    }
    if mine.is_empty() {
        return;
    }
    let temps = match pointer {
        Some(temps) => temps,
        None => form.take([Need::one_of(needs); 2]),
    };
    let mut writer = Writer {
        form,
        temps,
        buffer: batch.buffer,
        records,
    };
    writer.load_position();
    let before: u32 = all[..start].iter().map(|record| record.size).sum();
    let behind = writer.records(mine, before);
    if end == all.len() {
        writer.advance(behind);
        count(form, all, batch.buffer, records);
    }
    form.give(&temps);
}

/// Fields, of which neighbours with 4 bytes that are constant become one if that is short.
fn merged(fields: &[(Field, Value)]) -> impl Iterator<Item = (Field, Value)> {
    let mut fields = fields.iter().copied().peekable();
    core::iter::from_fn(move || {
        let (field, value) = fields.next()?;
        let (Value::Const(low), 4) = (value, field.bytes) else {
            return Some((field, value));
        };
        let next = fields.next_if(|(next, value)| {
            let follows = next.offset == field.offset + 4 && next.bytes == 4;
            matches!(value, Value::Const(high) if follows && short(both(low, *high)).is_some())
        });
        let Some((_, Value::Const(high))) = next else {
            return Some((field, value));
        };
        Some((Field { bytes: 8, ..field }, Value::Const(both(low, high))))
    })
}

const fn both(low: u64, high: u64) -> u64 {
    low & 0xffff_ffff | high << 32
}

/// Registers that the fields of `record` name.
pub(super) fn names(record: &AppendInsertion) -> RegSet {
    let of = |value: &Value| match *value {
        Value::Reg(reg) => RegSet::of(&[Gpr::new(reg as u8)]),
        Value::Memory(Address::Sum { base, index, .. }) => {
            let both = [base, index].into_iter().flatten();
            both.fold(RegSet::NONE, |set, reg| set.with(Gpr::new(reg as u8)))
        }
        _ => RegSet::NONE,
    };
    let values = record.fields.iter().map(|(_, value)| of(value));
    values.fold(RegSet::NONE, RegSet::or)
}

/// Sees whether there is room. Temporaries that it has taken for what follows, the first of them
/// rcx, if `shared` says which the second may be.
fn look(form: &mut Form, batch: &Batch, ins: InsId, shared: Option<RegSet>) -> Option<[Temp; 2]> {
    let buffer = batch.buffer;
    let again = form.again();
    let full = form.label();
    let record = Record::Full { ins, buffer, again };
    let cell = Cell::at(buffers::full(buffer) as i32);
    if batch.flags_dead {
        form.push(Op::IfByte { cell, to: full });
        form.aside(ins, |form| {
            form.place(full, &[]);
            let [temp] = form.take([Need::fixed(Gpr::RCX)]);
            hand_over(form, record, &[temp]);
        });
        return None;
    }
    let rcx = Need::fixed(Gpr::RCX);
    match shared {
        Some(other) => {
            let other = other.minus(RegSet::of(&[Gpr::RCX]));
            let temps = form.take([rcx, Need::one_of(other)]);
            look_by(form, &temps, cell, full);
            // The second is the app's again when the runtime is asked.
            form.aside(ins, |form| {
                form.place(full, &temps);
                form.push(Op::Refill { temp: temps[1] });
                hand_over(form, record, &temps);
            });
            Some(temps)
        }
        None => {
            let temps = form.take([rcx]);
            look_by(form, &temps, cell, full);
            form.aside(ins, |form| {
                form.place(full, &temps);
                hand_over(form, record, &temps);
            });
            form.give(&temps);
            None
        }
    }
}

/// By the first of `temps`, which is rcx.
fn look_by(form: &mut Form, temps: &[Temp], cell: Cell, full: Label) {
    let room = form.label();
    let temp = temps[0];
    let to = temp.into();
    form.push(Op::LoadByte { to, cell });
    form.push(Op::IfZero { temp, to: room });
    form.push(Op::GotoFar { to: full });
    form.place(room, temps);
}

/// Asks the runtime, which comes back to the look, by the first of `temps`.
fn hand_over(form: &mut Form, record: Record, temps: &[Temp]) {
    form.record(temps[0], record);
    form.push(Op::JumpAgain {
        temps: Temps::of(temps),
    });
}

struct Writer<'a> {
    form: &'a mut Form,
    /// The position, and a value.
    temps: [Temp; 2],
    buffer: u16,
    records: &'a Records,
}

impl Writer<'_> {
    fn load_position(&mut self) {
        let (to, width) = (self.temps[0].into(), Width::W64);
        let cell = Cell::at(buffers::cell(self.buffer) as i32);
        self.form.push(Op::LoadCell { to, cell, width });
    }

    /// Stores `records`, with so many bytes before them and, in the end, behind.
    fn records(&mut self, records: &[AppendInsertion], before: u32) -> u32 {
        let mut bytes = before;
        for record in records {
            for (field, value) in merged(&record.fields) {
                self.field(bytes, field, value);
            }
            bytes += record.size;
        }
        bytes
    }

    fn cell(&self, at: u32) -> Cell {
        Cell {
            base: Some(self.temps[0]),
            disp: buffers::memory(self.buffer) + at as i32,
        }
    }

    fn field(&mut self, record: u32, field: Field, value: Value) {
        let (cell, bytes) = (self.cell(record + field.offset), field.bytes as u8);
        let to = Reg::from(self.temps[1]);
        let from = match value {
            Value::Const(value) => return self.constant(cell, bytes, value),
            Value::Reg(reg) => Gpr::new(reg as u8).into(),
            Value::App(off) | Value::Memory(Address::Image(off)) => {
                self.app(to, off, matches!(value, Value::Memory(_)));
                to
            }
            Value::Memory(Address::Sum {
                segment,
                base,
                index,
                scale,
                displacement,
                narrow,
            }) => {
                let register = |reg: Option<ppin_api::Reg>| reg.map(|reg| Gpr::new(reg as u8));
                let sum = Sum {
                    base: register(base),
                    index: register(index),
                    scale,
                    disp: short(displacement).unwrap_or_default(),
                    width: if narrow { Width::W32 } else { Width::W64 },
                };
                match (segment, sum) {
                    (
                        None,
                        Sum {
                            base: Some(base),
                            index: None,
                            disp: 0,
                            width: Width::W64,
                            ..
                        },
                    ) => base.into(),
                    _ => {
                        self.address(to, sum, segment);
                        to
                    }
                }
            }
            Value::ThreadId => {
                let (cell, width) = (Cell::at(Calls::THREAD as i32), Width::W64);
                self.form.push(Op::LoadCell { to, cell, width });
                to
            }
            // Such records are appended by a call.
            Value::State(_) => return,
        };
        self.form.push(Op::StoreField { cell, from, bytes });
    }

    fn constant(&mut self, cell: Cell, bytes: u8, value: u64) {
        if bytes < 8 || short(value).is_some() {
            let value = value as i32;
            return self.form.push(Op::SetField { cell, value, bytes });
        }
        for (at, value) in [(0, value as i32), (4, (value >> 32) as i32)] {
            let disp = cell.disp + at;
            let cell = Cell { disp, ..cell };
            let bytes = 4;
            self.form.push(Op::SetField { cell, value, bytes });
        }
    }

    /// `to` = an app address. `operand`: it is that of the instruction's own operand.
    fn app(&mut self, to: Reg, off: ImageOff, operand: bool) {
        let near = operand || self.records.near.contains(&off.0);
        self.form.push(if near {
            Op::LeaApp { to, off }
        } else {
            Op::LoadAppFar { to, off }
        });
    }

    /// `to` = address of an operand. A segment's base takes the place of the position meanwhile.
    fn address(&mut self, to: Reg, sum: Sum, segment: Option<Segment>) {
        let base = Reg::from(self.temps[0]);
        match segment {
            None => return self.form.push(Op::LeaSum { to, sum }),
            Some(Segment::Fs) => self.form.push(Op::ReadFs { to: base }),
            Some(Segment::Gs) => {
                let cell = Cell::at(APP_GS_BASE as i32);
                let (to, width) = (base, Width::W64);
                self.form.push(Op::LoadCell { to, cell, width });
            }
        }
        self.form.push(Op::LeaSum { to, sum });
        self.form.push(Op::Lea {
            to,
            base: to,
            index: Some(base),
            disp: 0,
        });
        self.load_position();
    }

    /// Moves the position by so many bytes.
    fn advance(&mut self, bytes: u32) {
        let to = Reg::from(self.temps[0]);
        self.form.push(Op::Lea {
            to,
            base: to,
            index: None,
            disp: bytes as i32,
        });
        self.form.push(Op::StoreCell {
            cell: Cell::at(buffers::cell(self.buffer) as i32),
            from: to,
            width: Width::W64,
        });
    }
}

/// Says which instructions the records of a batch belong to.
fn count(form: &mut Form, all: &[AppendInsertion], buffer: u16, records: &Records) {
    let first = form.counts.len();
    for record in all {
        let app = records.offsets[record.ins as usize];
        match form.counts[first..].iter_mut().find(|row| row.app == app) {
            Some(row) => row.amount += record.size,
            None => form.counts.push(CountRow {
                done: 0,
                counter: buffers::cell(buffer),
                image: false,
                app,
                amount: record.size,
            }),
        }
    }
    let len = form.counts.len() - first;
    let (first, len) = (first as u16, len as u16);
    form.push(Op::Counted { first, len });
}
