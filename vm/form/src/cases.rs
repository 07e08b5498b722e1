//! Jumps by tables, and the registers that they go by.

use crate::{InsId, Temp};
use ppin_decode::tables::{self, ByTable, Place};
use ppin_decode::{Gpr, Ins};

/// The jump that ends a trace, and goes by a table that does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaseJump {
    /// Before this instruction the register `index` has the index.
    pub at: InsId,
    /// What the jump goes by.
    pub by: By,
    /// See `at`.
    pub index: Gpr,
    /// Where the table lies.
    pub table: Place,
    /// Bytes of an entry: 8, an address; or 4, a distance from the table.
    pub bytes: u8,
    /// The index is less than this.
    pub count: u16,
    /// Nobody may enter at instructions behind the first of these app offsets, up to the second.
    pub proved: (u32, u32),
    /// From `at` on: the address of the slot, if the jump goes by that.
    pub slot: Option<Temp>,
}

/// What a jump by a table goes by, which has it from [`CaseJump::at`] on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// The address of its slot, in rcx or rax, which no instruction touches but the jump itself. The table is known.
    Slot(Gpr),
    /// The app's index, which is not rcx. A register says where the table lies.
    Index,
    /// The index, in a cell.
    Cell,
}

impl CaseJump {
    /// The jump `by` a table at the end of `ins`; `None`: no register can be had for it.
    ///
    /// # Panics
    /// There are no instructions.
    #[must_use]
    pub fn new(ins: &[Ins], by: &ByTable) -> Option<Self> {
        let last = ins.len() - 1;
        let stays = !tables::changes(ins, by.load..last, by.index);
        let at = if stays { last } else { by.load };
        let way = match by.table {
            Place::Known(_) => untouched(&ins[at..last], by.index).map_or(By::Cell, By::Slot),
            // (rcx compares where the table lies, rax gets what is in the cell.)
            Place::Held(Gpr::RCX) => return None,
            Place::Held(_) if stays && by.index != Gpr::RCX => By::Index,
            Place::Held(Gpr::RAX) => return None,
            Place::Held(_) => By::Cell,
        };
        Some(Self {
            at: InsId(at as u16),
            by: way,
            index: by.index,
            table: by.table,
            bytes: by.bytes,
            count: by.count,
            proved: (ins[by.since].offset, ins[last].offset),
            slot: None,
        })
    }
}

/// rcx or rax, if `ins` do not touch it and it is not `index`.
fn untouched(ins: &[Ins], index: Gpr) -> Option<Gpr> {
    let unfit = tables::touched(ins, 0..ins.len()).with(index);
    [Gpr::RCX, Gpr::RAX]
        .into_iter()
        .find(|it| !unfit.contains(*it))
}
