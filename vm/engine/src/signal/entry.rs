//! Entry of the VM's signal handler, in assembly.

use super::handler;

unsafe extern "C" {
    /// The handler that the kernel calls.
    fn signal_entry();
}

core::arch::global_asm!(
    ".text",
    // The kernel leaves the app's AC flag set, under which compiled code may fault.
    ".globl signal_entry",
    ".hidden signal_entry",
    "signal_entry:",
    "pushfq",
    "and dword ptr [rsp], 0xfffbffff",
    "popfq",
    "jmp {handler}",
    handler = sym handler::on_signal,
);

/// Address of the handler.
#[must_use]
pub(crate) fn address() -> u64 {
    signal_entry as *const () as usize as u64
}
