//! Threads of the app, and the state that threads of one process share.

mod membership;
mod process;
mod regs;
mod resting;
mod segment;
#[expect(
    clippy::module_inception,
    reason = "the folder holds what belongs to threads"
)]
mod thread;
mod threads;
pub mod user_dispatch;

pub use process::Process;
pub use regs::{Reason, Regs, reg};
pub use thread::{SIGNAL_STACK, Thread, VM_STACK, of_signal_stack};
pub use threads::Threads;
