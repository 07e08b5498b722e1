//! The tool's side: what `ppin_sdk::tool!` builds into an object.
//!
//! ```text
//! open       making a tool, and the functions that are asked of it
//! callbacks  what the tool is told
//! code       the code that it looks at
//! insertion  what it inserts
//! host       the services of the process around it
//! state      copies of its states
//! heap       its allocator, and its end when it fails
//! ```

mod callbacks;
mod code;
pub mod heap;
mod host;
mod insertion;
mod open;
mod state;
