//! The relocatable form of one translated trace.

use crate::pc_map::{PcMap, PcRow};
use crate::{Shape, Start};
use alloc::vec::Vec;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;

/// Hot offset where threads arrive by indirect branches, if they may. Before it stands a jump for those
/// that belong elsewhere: the comparison branches back to it, and none of its bytes is fetched otherwise.
pub const ARRIVAL: u8 = 8;

/// How many bytes before hot offset `entry` ([`Fragment::entry`]) threads arrive by indirect branches; 0:
/// they do not. `None`: there is no such entry.
#[must_use]
pub const fn arrives_before(entry: u8) -> Option<u8> {
    match entry {
        0 => Some(0),
        1..=ARRIVAL => None,
        _ => Some(entry - ARRIVAL),
    }
}

/// The code emitted for one trace under one static context.
///
/// Straight line: the trace covers the app bytes from `head` on ([`Fragment::trace_len`]), but for what it jumps over
/// by the branches that it follows ([`Fragment::shape`]).
/// Its code lies in two sections, *hot* (the trace itself) and *cold* (rare code
/// and records), which are placed apart; its *slots* are 8-byte data cells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fragment {
    /// First app instruction.
    pub head: ImageOff,
    /// Static context that it assumes on entry.
    pub context: Context,
    /// App bytes it was made from, from `head` on.
    pub source_len: u32,
    /// Of these, the last, which lie behind the trace: what stands there decided how it was made.
    pub beyond: u32,
    /// App instructions in it; none: it only tells the VM why there is no translation.
    pub instructions: u32,
    /// Which of its branches it follows.
    pub shape: Shape,
    /// Hot offset where it is entered, all registers being in place. Unless it is 0, threads also
    /// arrive at [`ARRIVAL`] by indirect branches that go by their own tables
    /// ([`ppin_abi::area::Area::near`]): code there compares the address that they go to.
    pub entry: u8,
    /// Code; see [`Start::of_hot`] for where it may begin.
    pub hot: Vec<u8>,
    /// Code that is hardly ever run, and records; see [`Start::COLD`]. Before it lie the stubs of the exits
    /// ([`crate::write_stubs`]), which who gives it a place makes.
    pub cold: Vec<u8>,
    /// Initial contents of its slots. Behind them lie those of the exits, which lead
    /// into the stubs at first.
    pub slots: Vec<SlotInit>,
    /// What depends on placement, but for the branches of exits.
    pub relocs: Vec<Reloc>,
    /// Direct exits.
    pub exits: Vec<Exit>,
    /// From hot offset to app instruction.
    pub pc_map: PcMap,
    /// Counter additions, for faults and signals inside a counted stretch.
    pub counts: Vec<CountRow>,
}

impl Fragment {
    /// What stands in the first `len` bytes from its head on has decided how it was made.
    pub fn depend_on(&mut self, len: u32) {
        let trace = self.trace_len();
        self.source_len = self.source_len.max(len);
        self.beyond = self.source_len - trace;
    }

    /// App bytes of the trace itself.
    #[must_use]
    pub const fn trace_len(&self) -> u32 {
        self.source_len - self.beyond
    }

    /// Number of its slots, those of the exits included.
    #[must_use]
    pub fn all_slots(&self) -> usize {
        self.slots.len() + self.exits.len()
    }

    /// How many cells it asks for ([`SlotInit::Bundles`]).
    #[must_use]
    pub fn cells(&self) -> Option<u16> {
        cells_of(&self.slots)
    }

    /// At which addresses its hot code may begin; `nth` is the number of fragments before it at which
    /// threads arrive by indirect branches.
    #[must_use]
    pub const fn start(&self, nth: usize) -> Start {
        Start::of_hot(self.entry, nth)
    }
}

/// Where a relocated field lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Section {
    /// The trace's own code.
    Hot = 0,
    /// Stubs and records.
    Cold = 1,
}

/// A 32-bit field that depends on placement.
///
/// Value stored: `target - (field address + pc_bias)`, where `pc_bias` is the
/// distance from the field to the address that the CPU (or the record's reader)
/// counts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reloc {
    /// Section of the field.
    pub section: Section,
    /// Offset of the field in it, in bytes.
    pub at: u32,
    /// Bytes from the field to the reference point (4 for a plain rel32; 4 + n
    /// where n immediate bytes follow; negative inside records).
    pub pc_bias: i32,
    /// The address that the field refers to.
    pub kind: RelocKind,
}

/// The address that a relocated field refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelocKind {
    /// App address, data or code.
    App(ImageOff),
    /// App address as an absolute, sign-extended 32-bit number (images in the low
    /// or high 2 GB only); `pc_bias` is not used.
    AppAbs32(ImageOff),
    /// Slot by index, of those that are no exit's.
    Slot(u16),
    /// Offset in this fragment's hot section.
    Hot(u32),
    /// Offset in this fragment's cold section.
    Cold(u32),
    /// Cell by index, of those that the fragment's [`SlotInit::Bundles`] asks for: its displacement from
    /// `gs`, an absolute number; `pc_bias` is not used.
    Cell(u16),
}

/// Contents of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotInit {
    /// Absolute app address.
    App(ImageOff),
    /// What makes 0 with the app address to which a call is returned. Who takes the code out of use
    /// changes it.
    Landing(ImageOff),
    /// Cache address in this fragment's cold section. Code with such slots is not persisted.
    Cold(u32),
    /// What makes 0 with the app address that a jump through a cell is predicted to go to: this one, until
    /// somebody knows better. The next slot says where that goes on.
    Prediction(ImageOff),
    /// Cache address where the fragment itself is entered, or where a predicted jump goes on. Two of them stand before the
    /// one [`SlotInit::Case`] of a jump by a table whose address the app has in a register: until one is known, what makes 0
    /// with it; and then where the slots for its entries are.
    Entry,
    /// Cache address at this offset of the fragment's hot section, until the jump through this slot is known to
    /// lead elsewhere. The next slot says which app cell that goes by.
    Behind(u32),
    /// Cache address at this offset of the fragment's hot section, until an entry of a table, by which a jump goes, is
    /// known to lead elsewhere. So many of them stand behind the app address of the table, if that is known.
    Case(u32),
    /// Displacement from `gs` of the thread's counters for this fragment's image.
    ImageCounters,
    /// Displacement from `gs` of so many cells of the fragment's own. All additions to counters of
    /// the image are made by way of them: see [`CountRow::image`]. Code does not read the slot, but names
    /// the cells itself ([`RelocKind::Cell`]).
    Bundles(u16),
}

/// How many cells a fragment with these slots asks for.
#[must_use]
pub fn cells_of(slots: &[SlotInit]) -> Option<u16> {
    slots.iter().find_map(|slot| match slot {
        SlotInit::Bundles(count) => Some(*count),
        _ => None,
    })
}

/// The app cells that code with these slots takes for ones that do not change.
pub fn sealed_cells(slots: &[SlotInit]) -> impl Iterator<Item = ImageOff> + '_ {
    slots.windows(2).filter_map(|pair| match pair {
        [SlotInit::Behind(_), SlotInit::App(cell)] => Some(*cell),
        _ => None,
    })
}

/// A direct exit. Unlinked, its branch goes to its stub ([`ppin_abi::record::stub`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exit {
    /// App target.
    pub target: ImageOff,
    /// Context it is entered with.
    pub context: Context,
    /// Hot offset of the branch's rel32 field, a multiple of 4. It depends on placement, and so is not listed with the
    /// fragment's relocations.
    pub branch: u32,
}

/// Flags of a [`PcRow`].
pub mod pc_flag {
    /// The row's first byte is an app instruction boundary: all app state is in
    /// place, but for registers that are spilled, and nothing of the instruction or of its
    /// instrumentation has run. Where registers are spilled, no run begins, but see [`IN_SLOTS`].
    pub const BOUNDARY: u8 = 1;
    /// The row's first byte is the app instruction itself, after instrumentation.
    pub const INSTRUCTION: u8 = 2;
    /// On a boundary or comparing row: the instruction begins a basic block here (it follows a
    /// conditional branch, or heads a trace that does not continue a block).
    pub const BLOCK: u8 = 4;
    /// On an instruction row: all that came behind the boundary is to count. A run that is
    /// interrupted here may go on from the boundary, once the counters are corrected.
    pub const REPEATABLE: u8 = 8;
    /// On a boundary row: how the code goes on was decided by instructions before it, so nobody enters
    /// there ([`crate::side_entrances`]).
    pub const DECIDED: u8 = REPEATABLE;
    /// Only comparing of the source has run behind the boundary, and at every byte of the row
    /// the registers and flags can be had from where the row says: as good as the boundary.
    pub const COMPARING: u8 = 16;
    /// The app's arithmetic flags lie in rax, as `lahf; seto al` has left them there.
    pub const FLAGS_IN_RAX: u8 = 32;
    /// A routine is being called: the app's stack pointer lies in the thread area
    /// (`ppin_abi::area::Calls::app_sp`).
    pub const OWN_STACK: u8 = 64;
    /// On a boundary row: what the spilled registers hold meanwhile is nobody's. A run may begin here that puts the
    /// app's values into the slots.
    pub const IN_SLOTS: u8 = OWN_STACK;
    /// On a boundary row: records of this instruction or of later ones have been stored before it.
    /// A signal waits for a boundary without them, and no run begins here.
    pub const AHEAD: u8 = 128;
    /// On a row that is no boundary: its first byte stores a routine's result to the app's memory.
    pub const STORES_RESULT: u8 = AHEAD;
}

/// App instructions that have been executed since the head when a fragment with the pc map `rows` is left by
/// code at hot offset `hot`.
#[must_use]
pub fn executed_at(rows: &PcMap, hot: u32) -> u32 {
    let app = rows.row_at(hot).map_or(0, |row| row.app);
    executed_before(rows, app + 1)
}

/// App instructions that begin less than `app` bytes behind the head of a fragment with the pc map `rows`.
#[must_use]
pub fn executed_before(rows: &PcMap, app: u32) -> u32 {
    let begun = |row: &PcRow| row.flags & pc_flag::BOUNDARY != 0 && row.app < app;
    rows.iter().filter(begun).count() as u32
}

/// One addition to a tool counter and the instructions that it pays for in advance
/// (or in arrears). When a run leaves the stretch in the middle, by a fault or a
/// signal, the VM corrects the counter to what was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountRow {
    /// Hot offset behind the addition: at or after it, the addition was made.
    pub done: u32,
    /// Byte displacement of the counter: from `gs` if `image` is false, else from
    /// the thread's counter block for this image.
    pub counter: u32,
    /// Relative to the image's block of counters. In a fragment with [`SlotInit::Bundles`] the rows
    /// of the image that have the same `done` are one *bundle*: the code adds 1 to a cell for all of
    /// them. The first bundle has the first cell.
    pub image: bool,
    /// App bytes from the head to the instruction that this count belongs to. A
    /// count that pays for several instructions has one row for each. Or [`Self::ASIDE`].
    pub app: u32,
    /// Amount added for this instruction.
    pub amount: u32,
}

impl CountRow {
    /// In place of an instruction: the addition is made where a branch leaves the trace, for all that it
    /// pays for at once.
    pub const ASIDE: u32 = u32::MAX;
}

#[cfg(test)]
mod tests {
    use super::{ARRIVAL, arrives_before};

    #[test]
    fn threads_arrive_behind_the_jump_or_not_at_all() {
        assert_eq!(arrives_before(0), Some(0));
        for entry in 1..=ARRIVAL {
            assert_eq!(arrives_before(entry), None);
        }
        assert_eq!(arrives_before(ARRIVAL + 1), Some(1));
        assert_eq!(arrives_before(u8::MAX), Some(u8::MAX - ARRIVAL));
    }
}
