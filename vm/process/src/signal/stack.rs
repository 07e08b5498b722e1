//! The stack on which our handlers run.

use super::state::SignalState;
use ppin_os::c;

/// Tells the kernel of the thread's signal stack.
pub fn install_stack(state: &SignalState) {
    let stack: [u64; 3] = [state.stack.0, 0, state.stack.1];
    // SAFETY: a stack_t (pointer, flags, size); the memory is the thread's own.
    let _ = unsafe {
        ppin_os::call(
            c::__NR_sigaltstack,
            [stack.as_ptr() as usize, 0, 0, 0, 0, 0],
        )
    };
}
