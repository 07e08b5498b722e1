//! From a cache address to the app state it stands for.

use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_abi::buffers;
use ppin_abi::context::Context;
use ppin_abi::spills::SpillSet;
use ppin_relocator::{CountRow, PcRow, pc_flag};

/// Counter displacements from `gs`, and what to add to each.
pub type Corrections = Vec<(u64, i64)>;

/// The app's side of a cache address.
#[derive(Clone, Debug)]
pub struct Spot {
    /// App instruction that the address belongs to.
    pub pc: AppPc,
    /// A cache address in the fragment; 0: it is in none.
    pub code: u64,
    /// Nothing of that instruction has run, and all registers are in place or in the spill area.
    pub boundary: bool,
    /// Nothing but counting and comparing has run behind the boundary, and all registers are
    /// in place or in the spill area.
    pub repeatable: bool,
    /// Bytes from the stretch's start to the address.
    pub inside: u32,
    /// Records of this instruction or of later ones have been stored already, or registers hold what inserted
    /// code looks at again: no run begins here.
    pub ahead: bool,
    /// A routine's result is stored there, to memory of the app.
    pub stores_result: bool,
    /// The instruction begins a basic block on every path here.
    pub block_start: bool,
    /// Registers to be taken from the spill area.
    pub spilled: SpillSet,
    /// The arithmetic flags lie in rax ([`pc_flag::FLAGS_IN_RAX`]).
    pub flags_in_rax: bool,
    /// The stack pointer lies in the thread area ([`pc_flag::OWN_STACK`]).
    pub own_stack: bool,
    /// The fragment's context.
    pub context: Context,
    /// What makes the counts exact.
    pub corrections: Corrections,
    /// What makes them count the records of the instruction itself: if it has been reached, and
    /// raises a fault.
    pub told: Corrections,
}

impl Spot {
    /// At the beginning of the block at `pc`, all registers in place.
    #[must_use]
    pub fn at(pc: AppPc) -> Self {
        Self {
            pc,
            code: 0,
            boundary: true,
            repeatable: true,
            inside: 0,
            ahead: false,
            stores_result: false,
            block_start: true,
            spilled: SpillSet::NONE,
            flags_in_rax: false,
            own_stack: false,
            context: Context::CANONICAL,
            corrections: Vec::new(),
            told: Vec::new(),
        }
    }

    /// The same when registers and counters have been put right.
    #[must_use]
    pub fn put_right(&self) -> Self {
        Self {
            corrections: Vec::new(),
            told: Vec::new(),
            spilled: SpillSet::NONE,
            flags_in_rax: false,
            own_stack: false,
            ..self.clone()
        }
    }
}

/// A fragment and what its maps say, wherever they are kept.
pub struct Maps {
    /// First app instruction.
    pub head: AppPc,
    /// Its context.
    pub context: Context,
    /// Address of the hot section.
    pub hot: u64,
    /// Its pc map.
    pub rows: Vec<PcRow>,
    /// Its counter additions.
    pub counts: Vec<CountRow>,
    /// Displacement from `gs` of the image's counters.
    pub counters: u64,
}

/// What app instruction `address`, in the hot code of the fragment with these maps, belongs to.
#[must_use]
pub fn spot_in(maps: &Maps, address: u64) -> Option<Spot> {
    let offset = u32::try_from(address.checked_sub(maps.hot)?).ok()?;
    let after = maps.rows.partition_point(|r| r.hot <= offset);
    let row = maps.rows.get(after.checked_sub(1)?)?;
    let has = |flag| row.hot == offset && row.flags & flag != 0;
    let boundary = has(pc_flag::BOUNDARY);
    let comparing = row.flags & pc_flag::COMPARING != 0;
    Some(Spot {
        pc: maps.head.wrapping_add(u64::from(row.app)),
        code: address,
        boundary,
        repeatable: boundary || has(pc_flag::REPEATABLE) || comparing,
        inside: offset - row.hot,
        ahead: boundary && is_ahead(row),
        stores_result: !boundary && has(pc_flag::STORES_RESULT),
        block_start: row.flags & pc_flag::BLOCK != 0,
        spilled: row.spilled,
        flags_in_rax: !boundary && row.flags & pc_flag::FLAGS_IN_RAX != 0,
        own_stack: !boundary && row.flags & pc_flag::OWN_STACK != 0,
        context: maps.context,
        corrections: corrections(maps, offset, row.app),
        told: if reached(&maps.rows[..after]) {
            told(maps, row.app)
        } else {
            Vec::new()
        },
    })
}

/// Whether no run may begin at the boundary of `row`.
#[must_use]
pub fn is_ahead(row: &PcRow) -> bool {
    let held = !row.spilled.is_empty() && row.flags & pc_flag::IN_SLOTS == 0;
    row.flags & pc_flag::AHEAD != 0 || held
}

/// Additions made for instructions that have not run are taken back, those not made
/// for instructions that have are made good. `app` is the first that has not run.
#[must_use]
pub fn corrections(maps: &Maps, offset: u32, app: u32) -> Corrections {
    let mut result = Vec::new();
    for count in &maps.counts {
        let (done, due) = (offset >= count.done, count.app < app);
        if done != due {
            let amount = i64::from(count.amount) * if due { 1 } else { -1 };
            let base = if count.image { maps.counters } else { 0 };
            result.push((base + u64::from(count.counter), amount));
        }
    }
    result
}

/// Whether the instruction of the last of `rows` itself has begun, behind what was inserted; at the
/// boundary of one whose records were stored before, it has.
fn reached(rows: &[PcRow]) -> bool {
    let app = rows.last().map(|row| row.app);
    let mut own = rows.iter().rev().take_while(|row| Some(row.app) == app);
    own.any(|row| row.flags & (pc_flag::INSTRUCTION | pc_flag::AHEAD) != 0)
}

/// Bytes of records of the instruction at `app`, to which [`corrections`] give none.
fn told(maps: &Maps, app: u32) -> Corrections {
    let of_buffer = |count: &&CountRow| {
        let cell = u64::from(count.counter);
        !count.image && buffers::of_cell(cell).is_some() && count.app == app
    };
    let counts = maps.counts.iter().filter(of_buffer);
    let row = |count: &CountRow| (u64::from(count.counter), i64::from(count.amount));
    counts.map(row).collect()
}

#[cfg(test)]
mod tests;
