//! The end of a process: reports, and saving fresh code.

use crate::life::answers;
use ppin_abi::boot::flag;
use ppin_hosting::report;
use ppin_os::descriptor;
use ppin_process::report::log;
use ppin_process::vm::{Locked, Vm};
use ppin_translate::save;

/// Reports and saves, because the process is about to end or to execute another program. Does
/// nothing if that was done already.
pub(crate) fn of_process(vm: &mut Locked) {
    if !vm.begin_report() {
        return;
    }
    vm.hints_mut().pass_on();
    if is_silent(vm) {
        return;
    }
    descriptor::with_room(|| {
        report::tool_report(vm);
        save::at_end(vm);
        answers::note(vm);
        report::write_stats(vm);
        vm.end_log();
    });
}

/// Whether there is nothing to say and nothing to save. Most forked children end so, and need not touch what
/// would find that out bit by bit.
fn is_silent(vm: &Vm) -> bool {
    let config = vm.config();
    let told = !config.tools.is_empty() || config.flags & flag::STATS != 0 || log::on();
    !told && save::has_nothing(vm) && !answers::are_new(vm)
}

/// An exec has failed and the process goes on: its end will be reported later.
pub(crate) fn not_reached(vm: &mut Vm) {
    vm.report_again();
}
