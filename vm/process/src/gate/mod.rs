//! The gate between the code cache and the VM, in assembly.
//!
//! Emitted code jumps to the routines of this folder through `gs`, with the app's registers in
//! place (except rcx, see `ppin_abi::record`). No routine here touches the app's stack. [`Place`]
//! tells signal handlers what an interrupted pc in these routines means.
//!
//! The engine decides at start which routines are called when the cache is left ([`mod@entries`]).

pub mod cpuid;
pub mod cross;
pub mod disp;
mod entries;
mod go_back;
pub mod ibl;
pub mod landings;
pub mod numbers;
mod place;
pub mod ret;
mod stackless;
pub mod syscall;
pub mod table;
pub mod vmcall;

pub use cross::{
    cross, deliver_trap, enter_first, leave_after_call, native_trap, resume_vm, routine_trap,
};
pub use entries::{Lookups, entries};
pub use go_back::to as go_back;
pub use place::{Place, behind_call, place};
pub use stackless::{clone, rest_and_exit, sigreturn, unmap_and_exit};
