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
use ppin_relocator::{
    CountRow, Exit, Fragment, PcRow, Reloc, RelocKind, Section, SlotInit, pc_flag,
};

/// Collects code, records and tables of one fragment.
pub(crate) struct Emitter {
    pub hot: Asm,
    pub cold: Asm,
    pub(super) image: ImageBase,
    pub(super) head: AppPc,
    pub(super) context: Context,
    /// `ImageOff` based absolute addresses instead of rip-relative ones.
    pub(super) low: bool,
    pub(super) relocs: Vec<Reloc>,
    pub(super) slots: Vec<SlotInit>,
    pub(super) image_slot: Option<u16>,
    pub(super) exits: Vec<Exit>,
    pub(super) pc_map: Vec<PcRow>,
    pub(super) counts: Vec<CountRow>,
    /// The code may be left for the abort handler anywhere.
    pub(super) sequence: Option<InSequence>,
    /// Spilled registers that the thread area names.
    pub(super) marked: u8,
}

/// What code in a sequence refers to.
#[derive(Clone, Copy)]
pub(crate) struct InSequence {
    /// Cold offset of the stub.
    pub abort: u32,
    /// First of the slots that make up the descriptor of this code.
    pub descriptor: u16,
    /// Slot: what makes 0 with the address of the app's descriptor.
    pub expected: u16,
    /// From here on the kernel may abort.
    pub(super) protected: bool,
}

/// Least length of the hot section, so that its entry can be patched.
const MIN_HOT: usize = 8;

impl Emitter {
    pub(crate) fn new(
        head: AppPc,
        image: ImageBase,
        context: Context,
        instructions: usize,
        source: usize,
    ) -> Self {
        Self {
            hot: Asm::with_capacity(source + source / 2 + 32),
            cold: Asm::with_capacity(128),
            image,
            head,
            context,
            low: request::is_low(image),
            relocs: Vec::with_capacity(16),
            slots: Vec::with_capacity(4),
            image_slot: None,
            exits: Vec::with_capacity(4),
            pc_map: Vec::with_capacity(instructions + 4),
            counts: Vec::new(),
            sequence: None,
            marked: 0,
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
            instructions,
            hot: self.hot.into_bytes(),
            cold: self.cold.into_bytes(),
            slots: self.slots,
            relocs: self.relocs,
            exits: self.exits,
            pc_map: self.pc_map,
            counts: self.counts,
        }
    }

    /// Address of offset 0 of the image.
    pub(crate) fn image(&self) -> ImageBase {
        self.image
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

    /// What an exit behind a control transfer may assume.
    pub(crate) fn exit_context(&self) -> Context {
        volatile_part(self.context)
    }

    /// What the instruction `app` bytes behind the head may assume.
    pub(crate) fn ins_context(&self, app: u32) -> Context {
        if app == 0 {
            self.context
        } else {
            volatile_part(self.context)
        }
    }

    /// A new slot.
    pub(crate) fn slot(&mut self, init: SlotInit) -> u16 {
        self.slots.push(init);
        (self.slots.len() - 1) as u16
    }

    /// The slot that says where the image's counters are: one for the fragment.
    pub(super) fn image_counters_slot(&mut self) -> u16 {
        if let Some(slot) = self.image_slot {
            return slot;
        }
        let slot = self.slot(SlotInit::ImageCounters);
        self.image_slot = Some(slot);
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

    /// The app instruction `app` bytes behind the head begins here, nothing of it
    /// has run.
    pub(crate) fn boundary(&mut self, app: u32) {
        self.row(app, 0, pc_flag::BOUNDARY);
    }

    /// The instruction whose boundary was noted last begins a basic block.
    pub(crate) fn block_start(&mut self) {
        if let Some(row) = self.pc_map.last_mut() {
            row.flags |= pc_flag::BLOCK;
        }
    }

    /// Hot code from here on belongs to the instruction at `app`, with `spilled`
    /// registers in the thread area. Of several rows for one place the last counts.
    pub(crate) fn row(&mut self, app: u32, spilled: u8, flags: u8) {
        self.mark(spilled);
        let hot = self.hot.here();
        if self.pc_map.last().is_some_and(|row| row.hot == hot) {
            self.pc_map.pop();
        }
        self.pc_map.push(PcRow {
            hot,
            app,
            spilled: SpillSet::at_home(spilled),
            flags,
        });
    }

    /// An addition was just emitted that pays for the instruction at `row.app`.
    pub(crate) fn count(&mut self, row: CountRow) {
        self.counts.push(row);
    }
}

fn volatile_part(context: Context) -> Context {
    if context.contains(Context::VOLATILE) {
        Context::VOLATILE
    } else {
        Context::CANONICAL
    }
}
