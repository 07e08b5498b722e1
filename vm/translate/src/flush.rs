//! The cache is full.

use crate::save;
use ppin_process::vm::Vm;

/// Saves what is new, then forgets all fresh code.
pub(crate) fn flush(vm: &mut Vm) {
    vm.code.figures.flushes += 1;
    vm.log(format_args!("the cache is full: all fresh code goes"));
    save::in_passing(vm);
    vm.code.flush();
    vm.rseq.forget_copies();
}
