//! From an app address to code that may run.
//!
//! ```text
//! lookup       known, restored, or made now
//! compile      from app bytes to a fragment in the cache
//! sequence/    restartable sequences, which are translated in one piece
//! changes      the app's code has changed: what depends on it besides the code cache
//! save/        fresh fragments become unit files; flush: the cache is full
//! ```
//! All of it is done under the lock of the VM. No signal and no system call of the app's is
//! known here.
#![no_std]
extern crate alloc;

pub mod changes;
pub mod compile;
mod flush;
mod lookup;
mod predictable;
pub mod save;
pub mod sequence;

pub use lookup::lookup;
