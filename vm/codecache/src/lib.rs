//! The code cache: what has been translated, where it lies, and when it may run.
//!
//! ```text
//! fresh/       code translated by this process: memory, directory, links, flushing
//! unit/        persisted code: finding, mapping and admitting units
//! fragments    what others ask of fresh code
//! exits        direct exits by their stubs; linking
//! install      the one door into the cache for fresh code
//! invalidate   taking code out of use when the app's changes; says what died
//! bundles      cells of bundled counts, and what they stand for
//! lookup, spot what a cache address stands for; room: whether more will fit
//! figures      what has been done; journal: what is being done
//! ```
//!
//! It knows no thread, no tool and no system call of the app's.
#![no_std]
extern crate alloc;

mod bundles;
mod cache;
mod cases;
mod exit;
mod exits;
mod figures;
mod fragments;
pub mod fresh;
mod install;
mod invalidate;
mod journal;
mod landing;
mod lookup;
#[cfg(test)]
mod model;
mod predictions;
pub mod room;
mod sealed;
pub mod spot;
#[cfg(test)]
mod testing;
pub mod unit;

pub use cache::CodeCache;
pub use exit::{CodeOf, KnownExit};
pub use figures::{Figures, Spent};
pub use install::{Full, Manner, Room};
pub use invalidate::Dead;
pub use journal::Journal;
pub use landing::shut_all as shut_landings;
