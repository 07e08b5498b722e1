//! A fragment as the compiler leaves it, independent of every address, and the
//! one way to give it a place.
//!
//! Fresh fragments and persisted ones pass through the same door: choose a
//! [`Placement`], [`apply()`] the relocations, publish. Relocation kinds are few
//! and closed; what is not among them cannot be persisted.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod apply;
pub mod entrance;
mod fragment;
mod fragment_ref;
mod normalise;
mod pc_map;
mod shape;
mod start;
mod stubs;

pub use apply::{Placement, RangeError, aim, apply, apply_parts, cell};
pub use entrance::{entered_aside, may_enter_aside, side_entrance, side_entrances};
pub use fragment::{
    ARRIVAL, CountRow, Exit, Fragment, Reloc, RelocKind, Section, SlotInit, arrives_before,
    cells_of, executed_at, executed_before, pc_flag, sealed_cells,
};
pub use fragment_ref::FragmentRef;
pub use normalise::{normalise, normalise_parts};
pub use pc_map::{PcMap, PcMapBuilder, PcRow, rows_of};
pub use shape::Shape;
pub use start::Start;
pub use stubs::write_stubs;
