//! Discovery of restartable sequences in the app's code.

use crate::{changes, save};
use ppin_abi::addr::AppPc;
use ppin_jit::{Chosen, Constant, Sequence};
use ppin_os::peek;
use ppin_process::thread::Thread;
use ppin_process::vm::Vm;

/// Longest sequence that is accepted, in bytes.
const LONGEST: u64 = 4096;
/// Largest distance from its code at which a constant is taken for an address. Farther values are
/// numbers; reading memory at them would be in vain.
const NEAR: u64 = 256 << 20;

/// Examines the constants that a trace at `pc` computes. Returns whether the trace names a
/// sequence: such a trace must be translated in every run.
pub fn discover(vm: &mut Vm, pc: AppPc, chosen: &Chosen) -> bool {
    let mut found = false;
    for constant in chosen.constants() {
        let Some(address) = address(pc, constant) else {
            continue;
        };
        if descriptor(vm, address).is_some() {
            found = true;
        } else if is_abort_handler(vm, address) {
            watch(vm);
            found = true;
        }
    }
    found
}

/// The address that a constant may stand for.
fn address(pc: AppPc, constant: Constant) -> Option<u64> {
    let near = |address: &u64| address.abs_diff(pc.0) < NEAR;
    match constant {
        Constant::Address(address) => Some(address),
        Constant::Load(from) => peek::read_value(from).filter(near),
        Constant::Number(number) => Some(number).filter(near),
    }
}

/// The sequence that a `struct rseq_cs` at `address` describes; it is added to the known ones.
pub(super) fn descriptor(vm: &mut Vm, address: u64) -> Option<Sequence> {
    const ALIGNED: u64 = 8;
    if address == 0 || !address.is_multiple_of(ALIGNED) {
        return None;
    }
    let [kind, start, len, abort] = peek::read_value::<[u64; 4]>(address)?;
    // Version and flags must be 0: there is one version, and the kernel accepts no flag.
    if kind != 0 || len == 0 || len > LONGEST {
        return None;
    }
    let region = vm.code().images.region(AppPc(start))?;
    let base = vm.code().images.get(region.image).base;
    let end = start + len;
    let signature = peek::read_value::<[u8; 4]>(abort.wrapping_sub(4))?;
    let sane = end <= region.end && !(start..end).contains(&abort);
    let reach = AppPc(abort).offset_from(base).is_some();
    if !sane || !reach || !vm.rseq().is_signature(signature) {
        return None;
    }
    let sequence = Sequence {
        start: AppPc(start),
        end: AppPc(end),
        abort: AppPc(abort),
        signature,
    };
    learn(vm, sequence);
    Some(sequence)
}

/// Adds `sequence` to the known ones, and discards other translations of its code, also in units.
fn learn(vm: &mut Vm, sequence: Sequence) {
    if !vm.rseq_mut().learn(sequence) {
        return;
    }
    let (start, end) = (sequence.start, sequence.end.0);
    vm.log_at(
        format_args!("restartable sequence up to {end:#x} at"),
        start,
    );
    // (A trace that ends right before the sequence may announce it.)
    discard_code(vm, start.0 - 1, end);
}

fn discard_code(vm: &mut Vm, start: u64, end: u64) {
    vm.code_mut().images.put_off_limits(start, end);
    changes::fragments(vm, start, end);
}

/// Whether `address` looks like an abort handler for which the app will build a descriptor.
fn is_abort_handler(vm: &Vm, address: u64) -> bool {
    if vm.code().images.region(AppPc(address)).is_none() {
        return false;
    }
    let signature = peek::read_value::<[u8; 4]>(address.wrapping_sub(4));
    let ours = signature.is_some_and(|signature| vm.rseq().is_signature(signature));
    ours && !vm.rseq().aborts_at(AppPc(address))
}

/// Watches all stores for restartable sequences from now on: all code is translated again.
pub(super) fn watch(vm: &mut Vm) {
    if vm.rseq().is_watching() {
        return;
    }
    vm.log(format_args!(
        "all stores are watched for restartable sequences"
    ));
    vm.rseq_mut().begin_watching();
    save::in_run(vm);
    vm.library_mut().close();
    discard_code(vm, 0, u64::MAX);
}

/// Called on VM entry: checks whether the thread has announced a sequence by a descriptor whose
/// address came from memory.
pub fn announced_unseen(vm: &mut Vm, thread: &Thread) {
    let field = thread.area.rseq.field;
    if field == 0 || vm.rseq().is_watching() {
        return;
    }
    let value = peek::read_value::<u64>(field).filter(|value| *value != 0);
    let Some(value) = value.filter(|value| !vm.code().in_cache(*value)) else {
        return;
    };
    let before = vm.rseq().known();
    if descriptor(vm, value).is_some() && vm.rseq().known() != before {
        watch(vm);
    }
}
