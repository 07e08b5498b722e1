//! The stack on which the VM's signal handler runs.

use super::state::SignalState;
use ppin_os::c;

/// Installs the thread's signal stack in the kernel (sigaltstack(2)).
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
