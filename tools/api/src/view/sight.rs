//! What all views of one trace share: its source, and what has been inserted.

use crate::buffer::Buffer;
use crate::insertions::{AppendInsertion, CallInsertion, CountInsertion, Insertions};
use crate::routine::Routine;
use crate::source::Source;
use crate::state::State;
use crate::tool::Tool;
use core::cell::RefCell;
use ppin_abi::addr::ImageBase;
use ppin_abi::area::MAX_STATES;
use ppin_abi::counters::GLOBAL_COUNTERS;

/// How much a tool has declared: insertions beyond it are refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Global counters.
    pub global_counters: u32,
    /// Counters of each image.
    pub image_counters: u32,
    /// Analysis routines.
    pub routines: &'static [Routine],
    /// States.
    pub states: &'static [State],
    /// Buffers.
    pub buffers: &'static [Buffer],
}

impl Limits {
    /// What `tool` has declared.
    #[must_use]
    pub fn of(tool: &dyn Tool) -> Self {
        Self {
            global_counters: tool.global_counters().min(GLOBAL_COUNTERS),
            image_counters: tool.image_counters(),
            routines: tool.routines(),
            states: tool.states().get(..MAX_STATES).unwrap_or(tool.states()),
            buffers: tool.buffers(),
        }
    }
}

/// See the module.
pub(super) struct Sight<'a> {
    pub source: &'a dyn Source,
    pub image: ImageBase,
    /// Whether the first block is the rest of an earlier one.
    pub continues: bool,
    pub limits: Limits,
    inserted: RefCell<Insertions>,
}

impl<'a> Sight<'a> {
    pub fn new(source: &'a dyn Source, image: ImageBase, continues: bool, limits: Limits) -> Self {
        Self {
            source,
            image,
            continues,
            limits,
            inserted: RefCell::default(),
        }
    }

    pub fn insert_count(&self, count: CountInsertion) {
        let counts = &mut self.inserted.borrow_mut().counts;
        if counts.is_empty() {
            // One allocation instead of several: many tools count each instruction.
            counts.reserve(self.source.count());
        }
        counts.push(count);
    }

    pub fn insert_call(&self, call: CallInsertion) {
        self.inserted.borrow_mut().calls.push(call);
    }

    pub fn append(&self, append: AppendInsertion) {
        self.inserted.borrow_mut().appends.push(append);
    }

    pub fn insert(&self, all: Insertions) {
        let mut inserted = self.inserted.borrow_mut();
        if inserted.is_empty() {
            *inserted = all;
        } else {
            inserted.counts.extend(all.counts);
            inserted.calls.extend(all.calls);
            inserted.appends.extend(all.appends);
        }
    }

    pub fn into_insertions(self) -> Insertions {
        self.inserted.into_inner()
    }
}
