//! Flush of the code cache.

use crate::save;
use ppin_process::vm::Vm;

/// Saves new fragments, then removes all fresh code from the cache.
pub(crate) fn flush(vm: &mut Vm) {
    vm.code_mut().count_flush();
    vm.log(format_args!("the cache is full: all fresh code goes"));
    save::in_passing(vm);
    vm.code_mut().flush();
    vm.rseq_mut().forget_copies();
}
