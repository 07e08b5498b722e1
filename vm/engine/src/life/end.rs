//! The end of a process: reports, and saving fresh code.

use crate::life::answers;
use crate::tools::report;
use ppin_os::descriptor;
use ppin_process::vm::{Locked, Vm};

/// Reports and saves, because the process is about to end or to execute another program. Does
/// nothing if that was done already.
pub(crate) fn of_process(vm: &mut Locked) {
    if !vm.begin_report() {
        return;
    }
    descriptor::with_room(|| {
        report::tool_report(vm);
        ppin_translate::save::at_end(vm);
        answers::note(vm);
        report::write_stats(vm);
        vm.end_log();
    });
}

/// An exec has failed and the process goes on: its end will be reported later.
pub(crate) fn not_reached(vm: &mut Vm) {
    vm.report_again();
}
