//! Finding out which code is a restartable sequence.

use crate::{changes, save};
use ppin_abi::addr::AppPc;
use ppin_codecache::image::Image;
use ppin_jit::{Chosen, Constant, Sequence};
use ppin_os::peek;
use ppin_process::thread::Thread;
use ppin_process::vm::Vm;

/// Longest sequence: the code of one lies in one piece.
const LONGEST: u64 = 4096;
/// How far from its code a number is looked at as an address: farther ones are numbers,
/// and memory that is not there is not looked at for nothing.
const NEAR: u64 = 256 << 20;

/// Looks at what a trace at `pc` computes without looking at registers. Whether it names
/// a sequence: such a trace must be seen in every run.
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

/// The address that a constant may be.
fn address(pc: AppPc, constant: Constant) -> Option<u64> {
    let near = |address: &u64| address.abs_diff(pc.0) < NEAR;
    match constant {
        Constant::Address(address) => Some(address),
        Constant::Load(from) => peek::read_value(from).filter(near),
        Constant::Number(number) => Some(number).filter(near),
    }
}

/// The sequence that a `struct rseq_cs` at `address` describes, made known.
pub(super) fn descriptor(vm: &mut Vm, address: u64) -> Option<Sequence> {
    const ALIGNED: u64 = 8;
    if address == 0 || !address.is_multiple_of(ALIGNED) {
        return None;
    }
    let [kind, start, len, abort] = peek::read_value::<[u64; 4]>(address)?;
    // Version and flags: there is one version, and the kernel accepts no flag.
    if kind != 0 || len == 0 || len > LONGEST {
        return None;
    }
    let region = vm.code.images.region(AppPc(start))?;
    let base = vm.code.images.get(region.image).base;
    let end = start + len;
    let signature = peek::read_value::<[u8; 4]>(abort.wrapping_sub(4))?;
    let sane = end <= region.end && !(start..end).contains(&abort);
    let reach = AppPc(abort).offset_from(base).is_some();
    if !sane || !reach || !vm.rseq.is_signature(signature) {
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

/// Notes `sequence`, and takes what was translated of it as something else out of use,
/// also in units. Of several at one place the last is meant: code may have been replaced.
fn learn(vm: &mut Vm, sequence: Sequence) {
    let overlaps = |s: &Sequence| s.start < sequence.end && sequence.start < s.end;
    let known = &mut vm.rseq.known;
    if known.iter().rfind(|s| overlaps(s)) == Some(&sequence) {
        return;
    }
    known.retain(|s| *s != sequence);
    known.push(sequence);
    let (start, end) = (sequence.start, sequence.end.0);
    vm.log_at(
        format_args!("restartable sequence up to {end:#x} at"),
        start,
    );
    // A trace that ends right before it may be the one that announces it.
    take_back(vm, start.0 - 1, end);
}

fn take_back(vm: &mut Vm, start: u64, end: u64) {
    let here = |image: &&mut Image| !image.gone && image.span.0 < end && start < image.span.1;
    for image in vm.code.images.all.iter_mut().filter(here) {
        image.off_limits.push((start, end));
    }
    changes::fragments(vm, start, end);
}

/// Whether `address` looks like code that a descriptor is to be made for.
fn is_abort_handler(vm: &Vm, address: u64) -> bool {
    if vm.code.images.region(AppPc(address)).is_none() {
        return false;
    }
    let signature = peek::read_value::<[u8; 4]>(address.wrapping_sub(4));
    let ours = signature.is_some_and(|signature| vm.rseq.is_signature(signature));
    let known = |s: &Sequence| s.abort == AppPc(address);
    ours && !vm.rseq.known.iter().any(known)
}

/// From here on every store may announce a sequence: all code is translated anew.
pub(super) fn watch(vm: &mut Vm) {
    if vm.rseq.watching {
        return;
    }
    vm.log(format_args!(
        "all stores are watched for restartable sequences"
    ));
    vm.rseq.watching = true;
    save::in_run(vm);
    vm.library.closed = true;
    take_back(vm, 0, u64::MAX);
}

/// On entry into the VM: the thread may have announced a sequence by a descriptor whose
/// address came from memory.
pub fn announced_unseen(vm: &mut Vm, thread: &Thread) {
    let field = thread.area.rseq.field;
    if field == 0 || vm.rseq.watching {
        return;
    }
    let value = peek::read_value::<u64>(field).filter(|value| *value != 0);
    let Some(value) = value.filter(|value| !vm.code.in_cache(*value)) else {
        return;
    };
    let before = vm.rseq.known.len();
    if descriptor(vm, value).is_some() && vm.rseq.known.len() != before {
        watch(vm);
    }
}
