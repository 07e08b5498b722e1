//! Redirecting a thread.

use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_os::frame::{UContext, greg};
use ppin_process::gate;
use ppin_process::thread::Thread;

/// Lets the thread go on at app address `pc` through the VM. All app registers are in place in
/// `context`, but for what `ctx` says of the stack pointer.
pub(crate) fn redirect(thread: &mut Thread, context: &mut UContext, pc: AppPc, ctx: Context) {
    if ctx.contains(Context::CALLED) {
        let rsp = &mut context.gregs[greg::RSP];
        *rsp = gate::ret::called(&thread.area, *rsp);
    }
    thread.resume_pc = pc.0;
    thread.resume_context = ctx.without(Context::CALLED).0;
    context.gregs[greg::RIP] = gate::cross(gate::resume_vm);
    let flag = &mut thread.signals.trap_flag;
    flag.skip_next = true;
    context.gregs[greg::FLAGS] = flag.applied(context.gregs[greg::FLAGS]);
}
