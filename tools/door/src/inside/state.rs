//! Copies of the tool's states.
//!
//! # Safety
//! A copy that crosses is a `Box<dyn StateCopy>` in a box of its own, whose address is a thin
//! pointer. It was made by [`given`] on this side, and belongs to one caller until it is freed.
#![allow(unsafe_code)]

use super::open::tool;
use crate::table::{CopyRow, Each, StateFunctions, StateRow, Text, This};
use alloc::boxed::Box;
use ppin_api::{StateCopy, Tool};

/// A copy that crosses.
type Copy = Box<dyn StateCopy>;

pub const fn functions<T: Tool>() -> StateFunctions {
    StateFunctions {
        all: all::<T>,
        make: make::<T>,
        add,
        snapshot,
        free,
    }
}

extern "C" fn all<T: Tool>(this: This, each: Each<StateRow>) {
    for state in tool::<T>(this).states() {
        each.give(&StateRow {
            name: Text::of(state.name),
        });
    }
}

extern "C" fn make<T: Tool>(this: This, state: u16) -> CopyRow {
    let state = tool::<T>(this).states().get(usize::from(state));
    let Some(state) = state else {
        return CopyRow {
            this: core::ptr::null(),
            address: 0,
        };
    };
    given(state.make())
}

extern "C" fn snapshot(copy: This) -> CopyRow {
    // SAFETY: see the module.
    given(unsafe { &*copy.cast::<Copy>() }.as_ref().snapshot())
}

fn given(mut copy: Copy) -> CopyRow {
    let address = copy.as_mut().address();
    CopyRow {
        this: Box::into_raw(Box::new(copy)).cast_const().cast(),
        address,
    }
}

/// The copy that the caller has got, to keep.
pub fn taken(this: This) -> Option<Copy> {
    // SAFETY: see the module; the caller does not use it again.
    (!this.is_null()).then(|| unsafe { *Box::from_raw(this.cast_mut().cast::<Copy>()) })
}

extern "C" fn add(copy: This, other: This) {
    // SAFETY: see the module; they are two.
    let (copy, other) = unsafe { (&mut *copy.cast_mut().cast::<Copy>(), &*other.cast::<Copy>()) };
    copy.as_mut().add(other.as_ref());
}

extern "C" fn free(copy: This) {
    drop(taken(copy));
}
