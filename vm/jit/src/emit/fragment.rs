//! The fragment under construction.
//!
//! Everything that depends on placement goes through here, so that each field
//! gets its relocation: rewriting rules never compute a distance themselves.

use super::asm::Asm;
use crate::request;
use alloc::vec::Vec;
use ppin_abi::addr::{AppPc, ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::spills::SpillSet;
use ppin_form::{Form, SequenceSlots};
use ppin_relocator::{
    CountRow, Exit, Fragment, PcMapBuilder, PcRow, Reloc, RelocKind, Section, Shape, SlotInit,
    pc_flag,
};

/// Collects code, records and tables of one fragment.
pub(crate) struct Emitter {
    pub hot: Asm,
    /// Hot offset where the trace is entered.
    pub(super) entry: u8,
    /// Cold code and records.
    pub cold: Asm,
    pub(super) image: ImageBase,
    pub(super) head: AppPc,
    pub(super) context: Context,
    /// `ImageOff` based absolute addresses instead of rip-relative ones.
    pub(super) low: bool,
    pub(super) relocs: Vec<Reloc>,
    pub(super) slots: Vec<SlotInit>,
    slot_of_image: Option<u16>,
    /// Bundles of counts so far.
    pub(super) bundles: u16,
    pub(super) exits: Vec<Exit>,
    pub(super) pc_map: PcMapBuilder,
    pub(super) counts: Vec<CountRow>,
    /// The code may be left for the abort handler anywhere.
    pub(super) sequence: Option<InSequence>,
    /// App instruction that the code at hand belongs to, in bytes from the head.
    pub(super) app: u32,
    /// Registers whose app value lies in the spill area.
    pub(super) spilled: SpillSet,
    /// Flags of rows to come ([`pc_flag`]).
    pub(super) row_flags: u8,
    /// Offset of the last app instruction whose translation was decided by those before it.
    pub(crate) decided: u32,
    /// As [`Form::undisturbed`].
    pub(crate) undisturbed: bool,
    /// The jump at the end relies on what has been proved from the first of these offsets on: nobody may enter
    /// behind it, up to the second.
    pub(crate) proved: Option<(u32, u32)>,
    /// Spilled registers that the thread area names.
    pub(super) marked: u8,
    /// Branches inside a sequence: their fields and the instructions that they lead to.
    pub branches: Vec<(u32, usize)>,
    /// Hot offset from which on the kernel may abort the sequence.
    pub announced: u32,
}

/// The restartable sequence that code belongs to.
#[derive(Clone, Copy)]
pub(crate) struct InSequence {
    /// Cold offset of the code that it leads to.
    pub abort: u32,
    pub slots: SequenceSlots,
}

/// Least length of the hot section, so that its entry can be patched.
const MIN_HOT: usize = 8;

/// Gives unused memory back: tables of fragments stay until the code cache is flushed. (Code moves
/// to the cache at once.)
fn exact<T>(mut list: Vec<T>) -> Vec<T> {
    list.shrink_to_fit();
    list
}

impl Emitter {
    /// An empty fragment, with room for what comes of `form`.
    pub(crate) fn new(head: AppPc, image: ImageBase, context: Context, form: &Form) -> Self {
        let ops = form.ops.len();
        let exits = form.ops.iter().filter(|op| op.is_exit()).count();
        let calls = form.ops.iter().filter(|op| op.is_paired_call()).count();
        Self {
            entry: 0,
            hot: Asm::with_capacity(6 * ops + 64),
            cold: Asm::default(),
            image,
            head,
            context,
            low: request::is_low(image),
            relocs: Vec::with_capacity(4 * calls + 4),
            slots: Vec::with_capacity(2 * calls),
            slot_of_image: None,
            bundles: 0,
            exits: Vec::with_capacity(exits),
            pc_map: PcMapBuilder::with_capacity(ops + 8),
            counts: Vec::new(),
            sequence: None,
            app: 0,
            spilled: SpillSet::NONE,
            row_flags: 0,
            decided: 0,
            undisturbed: form.undisturbed,
            proved: None,
            marked: 0,
            branches: Vec::new(),
            announced: 0,
        }
    }

    /// Closes the fragment, which covers `source_len` bytes of the app.
    pub(crate) fn finish(mut self, source_len: u32, instructions: u32) -> Fragment {
        if (self.hot.here() as usize) < MIN_HOT {
            self.hot.align(MIN_HOT);
        }
        Fragment {
            head: self.off(self.head),
            context: self.context,
            source_len,
            beyond: 0,
            instructions,
            shape: Shape::STRAIGHT,
            entry: self.entry,
            hot: self.hot.into_bytes(),
            cold: self.cold.into_bytes(),
            slots: exact(self.slots),
            relocs: exact(self.relocs),
            exits: exact(self.exits),
            pc_map: self.pc_map.finish(),
            counts: exact(self.counts),
        }
    }

    /// `pc` relative to the image. Trace selection lets nothing out of reach pass.
    pub(crate) fn off(&self, pc: AppPc) -> ImageOff {
        pc.offset_from(self.image).unwrap_or_default()
    }

    /// Whether the image lies so low that cached code may be out of its reach, and
    /// absolute 32-bit addresses take the place of rip-relative ones.
    pub(crate) fn is_low(&self) -> bool {
        self.low
    }

    /// A new slot.
    pub(crate) fn slot(&mut self, init: SlotInit) -> u16 {
        self.slots.push(init);
        (self.slots.len() - 1) as u16
    }

    /// The slot that says where the image's counters are, or the cells of the bundles: one for the
    /// fragment, which is `init` from now on.
    pub(super) fn image_slot(&mut self, init: SlotInit) -> u16 {
        let slot = self.slot_of_image.unwrap_or_else(|| self.slot(init));
        self.slot_of_image = Some(slot);
        self.slots[usize::from(slot)] = init;
        slot
    }

    /// The last 4 bytes of hot code are a field that points at `kind`.
    pub(crate) fn relocate_hot(&mut self, kind: RelocKind) {
        self.relocate_hot_at(self.hot.here() - 4, 4, kind);
    }

    /// The field at `at` in hot code points at `kind`, seen from `pc_bias` behind it.
    pub(crate) fn relocate_hot_at(&mut self, at: u32, pc_bias: i32, kind: RelocKind) {
        self.relocs.push(Reloc {
            section: Section::Hot,
            at,
            pc_bias,
            kind,
        });
    }

    /// The field at `at` in cold code or records points at `kind`.
    pub(super) fn relocate_cold_at(&mut self, at: u32, pc_bias: i32, kind: RelocKind) {
        self.relocs.push(Reloc {
            section: Section::Cold,
            at,
            pc_bias,
            kind,
        });
    }

    /// The app instruction `app` bytes behind the head begins here, nothing of it has run. It
    /// begins a `block`.
    pub(crate) fn begin(&mut self, app: u32, block: bool) {
        let flag = |is_so, flag| if is_so { flag } else { 0 };
        let proved = self
            .proved
            .is_some_and(|(from, to)| from < app && app <= to);
        let decided = flag((0 < app && app <= self.decided) || proved, pc_flag::DECIDED);
        self.app = app;
        // (Code in which nothing is inserted looks at no register twice. From decided code a handler does not return to
        // the same place, so what it changes is seen; that is better than a signal that waits all up the stack.)
        let stay = self.undisturbed && !self.spilled.is_empty();
        let in_slots = flag(stay, pc_flag::IN_SLOTS);
        self.row(pc_flag::BOUNDARY | flag(block, pc_flag::BLOCK) | decided | in_slots);
    }

    /// What is emitted next, its state still unknown, belongs to that instruction.
    pub(crate) fn begin_inside(&mut self, app: u32) {
        self.app = app;
    }

    /// What follows belongs to the instruction `app` bytes behind the head.
    pub(crate) fn belongs_to(&mut self, app: u32) {
        self.app = app;
        self.row(0);
    }

    /// Hot code from here on is as the state says. Of several rows for one place the last
    /// counts.
    pub(super) fn row(&mut self, flags: u8) {
        self.mark();
        let hot = self.hot.here();
        let row = PcRow {
            hot,
            app: self.app,
            spilled: self.spilled,
            flags: flags | self.row_flags,
        };
        match self.pc_map.last_mut().filter(|last| last.hot == hot) {
            Some(last) => *last = row,
            None => self.pc_map.push(row),
        }
    }
}
