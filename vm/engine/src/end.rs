//! The end of a process, or of its fresh code: save, report.

use crate::spool;
use crate::tools::host;
use crate::vm::{Locked, Vm};
use ppin_os::descriptor;

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
    vm.code.ibl.clear();
    vm.code.fresh.flush();
    crate::rseq::forget_copies(vm);
}

/// Who had the VM was killed, and may have left any of it half changed. (It was another
/// process: [`crate::lock`].) What can be made again goes, and is not saved.
pub fn take_over(vm: &mut Vm) {
    // A list that was about to grow may still lie where it was freed.
    ppin_os::heap::anew();
    vm.log(format_args!(
        "the holder of the lock is gone: all fresh code goes"
    ));
    vm.code.fresh.directory.disown_tables();
    for fresh in &mut vm.code.fresh.directory.fragments {
        fresh.saved = true;
    }
    vm.code.release_doubtful();
    vm.code.ibl.clear();
    vm.code.fresh.flush();
    crate::rseq::forget_copies(vm);
}
