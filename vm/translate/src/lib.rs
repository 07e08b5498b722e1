//! From an app address to a translation in the code cache.
//!
//! ```text
//! lookup       finds, restores or makes a translation
//! indirect     the same for an indirect branch, which will find it by itself
//! callee       entering code that calls lead to
//! compile      from app bytes to a fragment in the cache
//! sequence/    restartable sequences, which are translated in one piece
//! changes      invalidation when the app's code changes
//! hints        what forked children had to ask for is done ahead
//! save/        fresh fragments become unit files; flush: empties a full cache
//! ```
//! All functions here run under the VM lock. Signals and the app's system calls are the engine's.
#![no_std]
extern crate alloc;

mod aside;
pub mod callee;
pub mod changes;
pub mod compile;
mod fetched;
mod flush;
pub mod hints;
mod indirect;
mod lookup;
mod predictable;
pub mod save;
pub mod sequence;
#[cfg(test)]
mod testing;

pub use indirect::indirect;
pub use lookup::{lookup, may_link};
