//! Which records are stored together, before the first of their instructions.
//!
//! Registers are borrowed once for all of them. That can be where none of the registers which a
//! later record names is written in between; the stack pointer may move by a known distance. The
//! rows of the instructions in between say that records are ahead: signals wait for the end of the
//! station, and a fault takes back those of the instructions that were not reached.

use super::append::Batch;
use super::fields::names;
use alloc::vec::Vec;
use iced_x86::{Code, OpKind, Register};
use ppin_api::compiler::{AppendInsertion, Value};
use ppin_api::{Address, Reg};
use ppin_decode::touched::Touched;
use ppin_decode::{Ins, Kind};
use ppin_form::{Gpr, RegSet};

/// Most records of a station.
const MOST: usize = 12;
/// Most registers that they name: others must be left to be borrowed.
const MOST_NAMED: usize = 11;

const RSP: RegSet = RegSet::of(&[Gpr::RSP]);

/// For each of `records`, before which instruction it is stored. The addresses of those that are
/// stored earlier are changed to what they are there.
pub(super) fn choose(
    records: &mut [AppendInsertion],
    batches: &[Batch],
    ins: &[Ins],
    touched: &[Touched],
) -> Vec<u32> {
    let mut stations = Vec::with_capacity(records.len());
    for batch in batches {
        let mut station: Option<Station> = None;
        for record in &mut records[batch.records.clone()] {
            let next = station.take().and_then(|mut station| {
                station.pass(record.ins, ins, touched);
                station.join(record).then_some(station)
            });
            let next = next.unwrap_or_else(|| Station::new(record));
            stations.push(next.at);
            station = Some(next);
        }
    }
    stations
}

/// A station that may grow.
struct Station {
    at: u32,
    /// Up to which instruction it has been looked at what is written.
    passed: u32,
    written: RegSet,
    /// How far the stack pointer has moved.
    moved: i32,
    named: RegSet,
    records: usize,
    /// What follows cannot join.
    closed: bool,
}

impl Station {
    fn new(record: &AppendInsertion) -> Self {
        Self {
            at: record.ins,
            passed: record.ins,
            written: RegSet::NONE,
            moved: 0,
            named: names(record),
            records: 1,
            closed: false,
        }
    }

    /// Notes what the instructions before `to` do.
    fn pass(&mut self, to: u32, ins: &[Ins], touched: &[Touched]) {
        for n in self.passed as usize..to as usize {
            self.closed |= !matches!(ins[n].kind, Kind::Verbatim | Kind::RipRelative)
                || ins[n].x87_pointer.is_some();
            let mut written = touched[n].changed;
            if let Some(distance) = moves_stack(&ins[n]) {
                written = written.minus(RSP);
                let moved = self.moved.checked_add(distance);
                self.closed |= moved.is_none();
                self.moved = moved.unwrap_or_default();
            }
            self.written = self.written.or(written);
        }
        self.passed = to;
    }

    /// Whether `record` can be stored here; then its addresses are as they are here.
    fn join(&mut self, record: &mut AppendInsertion) -> bool {
        let names = names(record);
        let named = self.named.or(names);
        let known = names.and(self.written) == RegSet::NONE;
        let few = self.records < MOST && named.count() <= MOST_NAMED;
        if self.closed || !known || !few || !self.rebase(record) {
            return false;
        }
        self.named = named;
        self.records += 1;
        true
    }

    /// Makes the operands on the stack relative to where the stack pointer is here.
    fn rebase(&self, record: &mut AppendInsertion) -> bool {
        if self.moved == 0 {
            return true;
        }
        let mut fields = record.fields.clone();
        for (_, value) in &mut fields {
            match value {
                Value::Memory(Address::Sum {
                    base: Some(Reg::Rsp),
                    displacement,
                    narrow: false,
                    ..
                }) => {
                    let there = displacement.wrapping_add_signed(self.moved.into());
                    if i32::try_from(there.cast_signed()).is_err() {
                        return false;
                    }
                    *displacement = there;
                }
                Value::Memory(Address::Sum {
                    base: Some(Reg::Rsp),
                    ..
                })
                | Value::Reg(Reg::Rsp) => return false,
                _ => {}
            }
        }
        record.fields = fields;
        true
    }
}

/// How far an instruction moves the stack pointer, if it does nothing else with it that counts.
fn moves_stack(ins: &Ins) -> Option<i32> {
    let raw = &ins.raw;
    let is_rsp = |register: Register| register.full_register() == Register::RSP;
    match raw.code() {
        Code::Push_r64 | Code::Push_rm64 | Code::Pushq_imm32 | Code::Pushq_imm8 => Some(-8),
        Code::Pop_r64 if !is_rsp(raw.op0_register()) => Some(8),
        Code::Add_rm64_imm8 | Code::Add_rm64_imm32 if moves_rsp(ins) => Some(immediate(ins)),
        Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32 if moves_rsp(ins) => {
            immediate(ins).checked_neg()
        }
        _ => None,
    }
}

fn moves_rsp(ins: &Ins) -> bool {
    ins.raw.op0_kind() == OpKind::Register && ins.raw.op0_register() == Register::RSP
}

fn immediate(ins: &Ins) -> i32 {
    ins.raw.immediate(1) as i32
}
