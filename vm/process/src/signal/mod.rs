//! Signal state of threads and processes. The engine decides how signals are handled.

pub mod actions;
pub mod alt;
pub mod by_hand;
pub mod departure;
pub mod held;
pub mod in_call;
pub mod interrupted;
pub mod kernel_kills;
pub mod native;
pub mod returning;
pub mod sent;
pub mod sets;
pub mod stack;
pub mod state;
pub mod trap_flag;

pub use actions::{Actions, handled_at, take_over};
pub use sets::{
    DEFAULT, FAULTS, HOLD_ALL, HOLD_FAULTS_TOO, IGNORE, MAX_SIGNAL, UNCATCHABLE, bit,
    default_kills, dumps_core, is_fault, kernel_mask,
};
