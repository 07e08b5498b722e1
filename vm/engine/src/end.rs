//! The end of a process, or of its fresh code: save, report.

use crate::spool;
use crate::tools::host;
use ppin_os::descriptor;
use ppin_process::vm::Locked;
use ppin_process::vm::Vm;

/// The process is about to end or to execute another program.
pub fn of_process(vm: &mut Locked) {
    if core::mem::replace(&mut vm.ended_already, true) {
        return;
    }
    descriptor::with_room(|| {
        host::tool_report(vm);
        spool::freeze_all(vm, false);
        host::write_stats(vm);
        vm.end_log();
    });
}

/// An exec has failed after all: the process goes on.
pub fn not_yet(vm: &mut Vm) {
    vm.ended_already = false;
}

/// The cache is full: save, then forget all fresh code.
pub fn flush(vm: &mut Vm) {
    vm.code.figures.flushes += 1;
    vm.log(format_args!("the cache is full: all fresh code goes"));
    spool::freeze_all(vm, true);
    vm.code.flush();
    vm.rseq.forget_copies();
}
