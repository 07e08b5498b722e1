//! What all views of one trace share: its source, and what has been inserted.

use crate::buffer::Buffer;
use crate::insertions::{AppendInsertion, CallInsertion, CountInsertion, Insertions};
use crate::source::Source;
use core::cell::RefCell;
use ppin_abi::addr::ImageBase;

/// How much a tool has declared: insertions beyond it are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Global counters.
    pub global_counters: u32,
    /// Counters of each image.
    pub image_counters: u32,
    /// Analysis routines.
    pub routines: usize,
    /// Buffers.
    pub buffers: &'static [Buffer],
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
        self.inserted.borrow_mut().counts.push(count);
    }

    pub fn insert_call(&self, call: CallInsertion) {
        self.inserted.borrow_mut().calls.push(call);
    }

    pub fn append(&self, append: AppendInsertion) {
        self.inserted.borrow_mut().appends.push(append);
    }

    pub fn into_insertions(self) -> Insertions {
        self.inserted.into_inner()
    }
}
