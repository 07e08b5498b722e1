//! `cachesim`: hits and misses of the program's data in a simulated first-level cache.
//!
//! Each thread has a cache of its own, of 32 KiB: 64 sets of 8 lines of 64 bytes, of which the one
//! that was not used for the longest time makes room. An access that covers two lines is one to
//! each. A repeated string instruction accesses each line that it covers once, taken as ascending.
//! Accesses whose address cannot be computed beforehand (gathers, scatters) are left out, and so is
//! what the kernel does. An instruction that faults is not counted, though its lines have been looked up.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod cache;

use alloc::string::ToString;
use cache::Cache;
use ppin_sdk::number::Grouped;
use ppin_sdk::prelude::*;
use ppin_sdk::report;
use ppin_sdk::table::{Align, Table};

/// Counters of reads and of writes, but for those of string instructions, whose routine counts them.
const COUNTED: u32 = 2;
const CACHE: StateId = StateId(0);
/// Arguments: cache, address, bytes, kind.
const ACCESS: RoutineId = RoutineId(0);
/// The same, and the repeat count.
const STRING: RoutineId = RoutineId(1);

/// The tool.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cachesim;

impl Cachesim {
    /// What it says of itself.
    pub const ABOUT: About = About {
        name: "cachesim",
        summary: "simulates a first-level data cache: accesses and misses",
        knobs: &[],
    };
}

impl Tool for Cachesim {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn global_counters(&self) -> u32 {
        COUNTED
    }

    fn states(&self) -> &'static [State] {
        const STATES: &[State] = &[State::of::<Cache>("cache")];
        STATES
    }

    fn routines(&self) -> &'static [Routine] {
        const ROUTINES: &[Routine] = &[
            Routine::of("access", &(access as extern "C" fn(&mut Cache, _, _, _))),
            Routine::of("string", &(string as extern "C" fn(&mut Cache, _, _, _, _))),
        ];
        ROUTINES
    }

    fn instrument(&self, trace: &Trace<'_>) {
        for ins in trace.ins() {
            for (n, operand) in ins.memory_operands().iter().enumerate() {
                if operand.has_address() && operand.size != 0 {
                    instrument(&ins, n, operand).expect("asked for only what can be had");
                }
            }
        }
    }

    fn fini(&self, host: &dyn Host, report: &mut dyn Report) {
        let cache: Box<Cache> = host.state(CACHE);
        let rows = cache.rows([0, 1].map(|kind| host.global_total(kind)));
        let _ = match report.format() {
            Format::Human => report::human(self, host, report, table(rows)),
            Format::Json => report::json(self, host, report, |o| {
                rows.iter()
                    .try_for_each(|(name, count)| o.field(name, *count))
            }),
        };
    }
}

/// Inserts what looks up operand `n` of `ins`. What is read and written is looked up once.
fn instrument(ins: &Ins<'_>, n: usize, operand: &MemoryOperand) -> Result<(), Refused> {
    let kind = u32::from(operand.access.writes());
    let args = [
        Arg::State(CACHE),
        Arg::MemoryEa(n),
        Arg::Const(u64::from(operand.size)),
        Arg::Const(u64::from(kind)),
        Arg::Reg(Reg::Rcx),
    ];
    if ins.is_repeated() {
        return ins.insert_call(IPoint::Before, STRING, &args);
    }
    ins.insert_count(IPoint::Before, Counter::Global(kind), 1)?;
    ins.insert_call(IPoint::Before, ACCESS, &args[..4])
}

extern "C" fn access(cache: &mut Cache, address: u64, bytes: u64, kind: usize) {
    cache.access(address, bytes, kind);
}

extern "C" fn string(cache: &mut Cache, address: u64, bytes: u64, kind: usize, count: u64) {
    if count != 0 {
        cache.sweep_uncounted(address, bytes.wrapping_mul(count), kind);
    }
}

fn table(rows: [(&str, u64); 4]) -> Table<2> {
    let mut table = Table::new([Align::Right, Align::Left]);
    for (name, count) in rows {
        table.row([Grouped(count).to_string(), name.replace('_', " ")]);
    }
    table
}

#[cfg(test)]
mod tests;
