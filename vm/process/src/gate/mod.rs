//! The gate between the cache and the VM, in assembly.
//!
//! Emitted code jumps to the routines of this folder through `gs` with the app's
//! registers in place (but for rcx, see `ppin_abi::record`). Nothing here touches
//! the app's stack. Which stretches may be interrupted where is what
//! [`Place`] tells signal handlers.
//!
//! Who enters the VM first says what is called when the cache is left ([`entries`]).

pub mod cross;
pub mod disp;
mod entries;
mod go_back;
pub mod ibl;
pub mod numbers;
mod place;
mod stackless;
pub mod syscall;
pub mod table;
pub mod vmcall;

pub use cross::{cross, deliver_trap, enter_first, native_trap, resume_vm};
pub use entries::entries;
pub use go_back::to as go_back;
pub use place::{Place, behind_call, place};
pub use stackless::{clone, sigreturn, unmap_and_exit};
