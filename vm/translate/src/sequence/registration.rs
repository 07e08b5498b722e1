//! The system call rseq(2): it is made for the app, with the app's own structure.

use super::learn;
use ppin_abi::area::Rseq;
use ppin_abi::boot::flag;
use ppin_os::frame::SigInfo;
use ppin_os::{Errno, c, peek, segment};
use ppin_process::gate::vmcall;
use ppin_process::thread::Thread;
use ppin_process::vm;

const UNREGISTER: usize = 1;
/// Offset of `rseq_cs` in `struct rseq`.
const FIELD: u64 = 8;

/// Makes the call for the app.
pub fn call(thread: &mut Thread, args: &[usize; 6]) -> isize {
    if vm::lock().config().flags & flag::LOCKSTEP != 0 {
        return refuse(args);
    }
    let unregister = args[2] == UNREGISTER;
    if unregister {
        clear_own_descriptor(thread);
    }
    // SAFETY: the app's own call.
    let result = unsafe { vmcall::plain(c::__NR_rseq, args) };
    if result == 0 && unregister {
        thread.area.rseq = Rseq::NONE;
        thread.rseq_call = [0; 4];
    } else if result == 0 {
        registered(thread, [args[0], args[1], args[3]]);
    }
    result
}

/// The app has a registration of the running thread: address, length, signature.
pub fn registered(thread: &mut Thread, [at, len, signature]: [usize; 3]) {
    thread.area.rseq.field = at as u64 + FIELD;
    thread.rseq_call = [at, len, UNREGISTER, signature];
    thread.area.rseq.against = thread.area.rseq.field.wrapping_neg();
    segment_moved(thread);
    note_signature((signature as u32).to_le_bytes());
}

/// The result in lockstep mode, as if the kernel did not know rseq(2). A process that is
/// single-stepped is interrupted at every instruction and would never complete a sequence.
fn refuse(args: &[usize; 6]) -> isize {
    const SIZE: usize = 32;
    let valid = args[0].is_multiple_of(SIZE) && args[1] == SIZE && args[2] <= UNREGISTER;
    if valid {
        Errno::ENOSYS.raw()
    } else {
        Errno::EINVAL.raw()
    }
}

/// Recomputes the fs-relative address of the field, after the app has set the fs base.
pub fn segment_moved(thread: &mut Thread) {
    if thread.area.rseq.field != 0 {
        let inside = thread.area.rseq.field.wrapping_sub(segment::fs_base());
        thread.area.rseq.against_fs = inside.wrapping_neg();
    }
}

/// Adds a signature. If it is not the usual one, descriptors with it may have been missed, so
/// stores are watched from now on.
fn note_signature(signature: [u8; 4]) {
    let mut vm = vm::lock();
    if !vm.rseq().is_signature(signature) {
        vm.rseq_mut().add_signature(signature);
        learn::watch(&mut vm);
    }
}

/// Unregisters the app's structure in the kernel, in a copy of the process that `--check` has made,
/// so that the kernel does not write to it. Returns whether that worked.
pub fn forget(thread: &Thread) -> bool {
    let [at, len, flags, signature] = thread.rseq_call;
    // SAFETY: undoes the app's registration with the app's own arguments.
    at == 0 || unsafe { ppin_os::raw(c::__NR_rseq, [at, len, flags, signature, 0, 0]) } == 0
}

/// Clears the field if it names a translation's descriptor, because the app unregisters the
/// structure and keeps its memory.
fn clear_own_descriptor(thread: &Thread) {
    let field = thread.area.rseq.field;
    let vm = vm::lock();
    if field != 0
        && let Some(value) = peek::read_value::<u64>(field)
        && vm.rseq().of_descriptor(value).is_some()
    {
        // (The field has just been read. If it cannot be written, the VM has not written to it
        // either.)
        let _ = peek::write_value(field, &0_u64);
    }
}

/// Whether the kernel may have sent `info` because it rejects the descriptor that the thread's
/// field names. The kernel reads it whenever it has interrupted the thread, in any code.
#[must_use]
pub fn rejected(thread: &Thread, info: &SigInfo) -> bool {
    const SI_KERNEL: i32 = c::SI_KERNEL as i32;
    let by_kernel = info.signo as u32 == c::SIGSEGV && info.code == SI_KERNEL;
    let field = thread.area.rseq.field;
    let no_address = info.rest[0] == 0;
    by_kernel && no_address && field != 0 && peek::read_value::<u64>(field) != Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_lockstep_the_kernel_seems_to_know_no_rseq() {
        let refused = |at, len, flags| refuse(&[at, len, flags, 0, 0, 0]);
        assert_eq!(refused(64, 32, 0), Errno::ENOSYS.raw());
        assert_eq!(refused(64, 32, UNREGISTER), Errno::ENOSYS.raw());
        for wrong in [refused(63, 32, 0), refused(64, 31, 0), refused(64, 32, 2)] {
            assert_eq!(wrong, Errno::EINVAL.raw());
        }
    }
}
