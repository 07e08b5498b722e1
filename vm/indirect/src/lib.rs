//! Where indirect branches go, by app address: what emitted code reads, and its writer's side.
//!
//! ```text
//! table     of the process: all targets that are known
//! near      of each thread, for jumps in line: the same of fewer targets, and its return cache
//! landings  code that compares the target where a fragment has none that does
//! site      of a fragment: slots by which jumps go that need not look their target up
//! cases     of a jump by a table of the app's: the slots for the table's entries
//! held      which of these, and where they are, if the table's address is in a register
//! ```
//!
//! All of it is written under the VM's lock, and read without one. It knows addresses alone: which of them may
//! be jumped to, `ppin_codecache` says.

#![no_std]
extern crate alloc;

mod cases;
mod held;
mod landings;
mod near;
mod site;
mod table;

pub use cases::{Cases, FILLS, JUMPS};
pub use held::Held;
pub use landings::{LANDING_LEN, LANDINGS, LANDINGS_COUNT, Landing, Landings};
pub use near::ready;
pub use site::{Pair, Site};
pub use table::{GOLDEN, IblTable, SHIFT, TABLE};
