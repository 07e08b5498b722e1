//! States of a tool behind the door.
//!
//! # Safety
//! The functions are those of the tool that made the copies, and stay callable.
#![allow(unsafe_code)]

use crate::table::{CopyRow, Each, StateFunctions, StateRow, This};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};
use ppin_api::{State, StateCopy, StateKind};

/// The states of a tool.
pub fn states(tool: This, functions: StateFunctions) -> &'static [State] {
    let mut all = Vec::new();
    let mut take = |row: &StateRow| {
        let kind = Kind {
            tool,
            number: all.len() as u16,
            functions,
        };
        all.push(State::of_kind(row.name.text(), Box::leak(Box::new(kind))));
    };
    (functions.all)(tool, Each::new(&mut take));
    all.leak()
}

/// What copies of a state are made by.
struct Kind {
    tool: This,
    number: u16,
    functions: StateFunctions,
}

// SAFETY: the tool is `Sync`.
unsafe impl Sync for Kind {}

impl StateKind for Kind {
    fn make(&self) -> Box<dyn StateCopy> {
        let row = (self.functions.make)(self.tool, self.number);
        assert!(!row.this.is_null(), "a state that the tool has declared");
        Box::new(Copy::of(row, self.functions))
    }

    /// The value's type is known on the other side only.
    fn type_id(&self) -> TypeId {
        TypeId::of::<Copy>()
    }
}

/// A copy on the other side.
#[derive(Debug)]
pub struct Copy {
    this: This,
    address: usize,
    functions: StateFunctions,
}

// SAFETY: the values of states are `Send`.
unsafe impl Send for Copy {}

impl Copy {
    fn of(row: CopyRow, functions: StateFunctions) -> Self {
        Self {
            this: row.this,
            address: row.address,
            functions,
        }
    }

    /// Gives the copy to the other side, which frees it.
    pub fn give(self) -> This {
        let this = self.this;
        core::mem::forget(self);
        this
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        (self.functions.free)(self.this);
    }
}

impl StateCopy for Copy {
    fn add(&mut self, other: &dyn StateCopy) {
        if let Some(other) = other.as_any().downcast_ref::<Self>() {
            (self.functions.add)(self.this, other.this);
        }
    }

    fn snapshot(&self) -> Box<dyn StateCopy> {
        let row = (self.functions.snapshot)(self.this);
        Box::new(Self::of(row, self.functions))
    }

    fn address(&mut self) -> usize {
        self.address
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
