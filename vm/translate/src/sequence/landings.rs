//! Landings: entry points inside a translated sequence, for code that returns to it or branches
//! there (`ppin_jit`, `sequence/landing.rs`).

use super::copies;
use crate::compile;
use ppin_abi::addr::{AppPc, CachePc, ImageRange};
use ppin_abi::context::Context;
use ppin_codecache::fresh::Kind;
use ppin_jit::{BytesEnd, LandingSlot, Request, compile_landing};
use ppin_process::translate;
use ppin_process::vm::Vm;
use ppin_relocator::Shape;

/// Cache address at which copy `n` is entered at `pc`. Where counts are pending, or where code is
/// compared at every entry, this is not a landing: only the VM may enter there.
pub(super) fn to(vm: &mut Vm, n: usize, pc: AppPc) -> Option<CachePc> {
    let boundary = copies::boundary(vm, n, pc)?;
    let copy = vm.rseq().copy(n);
    if let Some(landing) = copy.landings.iter().find(|landing| landing.0 == pc) {
        return Some(CachePc(landing.1));
    }
    let spot = translate::spot(vm, boundary.0)?;
    if copy.context.contains(Context::VOLATILE) || !spot.corrections.is_empty() {
        return Some(boundary);
    }
    make(vm, n, pc, boundary)
}

fn make(vm: &mut Vm, n: usize, pc: AppPc, boundary: CachePc) -> Option<CachePc> {
    let region = vm.code().images().region(pc)?;
    let copy = vm.rseq().copy(n);
    let (descriptor, expected, context) = (copy.descriptor, copy.expected, copy.context);
    let request = Request {
        pc,
        image: vm.code().images().get(region.image).base,
        context,
        bytes: &[],
        end: BytesEnd::Limit,
        max_source: None,
        shape: Shape::STRAIGHT,
        sequences: &[],
        arrives: false,
        optimize: compile::mechanisms(vm),
        sealed: ImageRange::NONE,
        steady: false,
        bodies: None,
    };
    let fragment = compile_landing(&request, (copy.sequence.end.0 - pc.0) as u32);
    let epoch = vm.code().epoch();
    let id = compile::install(vm, region.image, pc, fragment, &[], Kind::Sequence);
    let hot = vm.code().fragment(id).entry().0;
    if vm.code().epoch() != epoch {
        // Making room has flushed the copy of the sequence, too.
        return copies::entry(vm, pc, context);
    }
    let slots = vm.code().fragment_at(hot)?.space().slots;
    let fill = |slot: LandingSlot, word: u64| {
        let cell = slots + 8 * u64::from(slot as u16);
        // SAFETY: a slot of a fragment that nobody has entered yet.
        unsafe { (cell as *mut u64).write(word) }
    };
    fill(LandingSlot::Target, boundary.0);
    fill(LandingSlot::Descriptor, descriptor);
    fill(LandingSlot::Against, descriptor.wrapping_neg());
    fill(LandingSlot::Expected, expected);
    vm.code_mut().count_compiled(0);
    vm.rseq_mut().add_landing(n, pc, hot);
    Some(CachePc(hot))
}

/// The index of the copy that cache address `addr` lies in, or that the landing there leads to.
pub(super) fn owner(vm: &Vm, addr: u64) -> Option<usize> {
    vm.rseq().owner(copies::hot_of(vm, addr)?)
}
