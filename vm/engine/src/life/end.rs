//! The end of a process, or of its fresh code: save, report.

use crate::tools::report;
use ppin_os::descriptor;
use ppin_process::vm::{Locked, Vm};

/// The process is about to end or to execute another program.
pub(crate) fn of_process(vm: &mut Locked) {
    if core::mem::replace(&mut vm.report_done, true) {
        return;
    }
    descriptor::with_room(|| {
        report::tool_report(vm);
        ppin_translate::save::at_end(vm);
        report::write_stats(vm);
        vm.end_log();
    });
}

/// An exec has failed after all: the process goes on.
pub(crate) fn not_yet(vm: &mut Vm) {
    vm.report_done = false;
}
