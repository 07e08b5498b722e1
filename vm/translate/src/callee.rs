//! Entering code for calls of the CPU behind its beginning, which takes away what a call has pushed: in the VM that is
//! done.

use ppin_abi::addr::CachePc;
use ppin_process::thread::Thread;
use ppin_process::vm::Vm;

/// Where `thread` enters the code at `entry`, if that is entered by calls
/// ([`ppin_abi::context::Context::CALLED`]). Its stack is as a native call leaves it; what the code looks for in slots
/// is put there.
#[must_use]
pub fn begin(vm: &Vm, thread: &mut Thread, entry: CachePc) -> Option<CachePc> {
    let (begin, spilled) = vm.code().begin_of_callee(entry)?;
    let registers = thread.regs.gpr;
    thread.fill_slots(spilled, |number| registers[number]);
    Some(begin)
}
