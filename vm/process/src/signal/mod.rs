//! A thread's and a process's share of signal handling: state only. What is done with it, the
//! engine decides.

pub mod actions;
pub mod alt;
pub mod departure;
pub mod held;
pub mod interrupted;
pub mod left;
pub mod native;
pub mod restorer;
pub mod returning;
pub mod sets;
pub mod stack;
pub mod state;
pub mod trap_flag;

pub use actions::{Actions, handled_at, take_over};
pub use sets::{
    DEFAULT, FAULTS, HOLD_ALL, IGNORE, MAX_SIGNAL, NOTHING, UNCATCHABLE, bit, default_kills,
    dumps_core, kernel_mask,
};
