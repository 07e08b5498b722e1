//! Discovery of restartable sequences in the app's code.

use crate::{changes, save};
use ppin_abi::addr::AppPc;
use ppin_decode::constants::Constant;
use ppin_jit::{Chosen, Sequence};
use ppin_os::peek;
use ppin_process::thread::Thread;
use ppin_process::vm::Vm;

/// Longest sequence that is accepted, in bytes.
const LONGEST: u64 = 4096;
/// Largest distance from its code at which a constant is taken for an address. Farther values are
/// numbers; reading memory at them would be in vain.
const NEAR: u64 = 256 << 20;
/// Nothing is mapped below (`vm.mmap_min_addr`, proc(5)), and for programs that lie low most numbers lie there:
/// to find that out by reading takes two faults. (What a program with more rights announces there is noticed by
/// [`announced_unseen`].)
const LOWEST: u64 = 64 << 10;

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
    let may_be = |number: &u64| *number >= LOWEST && number.abs_diff(pc.0) < NEAR;
    match constant {
        Constant::Address(address) => Some(address),
        Constant::Load(from) => peek::read_value(from).filter(may_be),
        Constant::Number(number) => Some(number).filter(may_be),
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
    let region = vm.code().images().region(AppPc(start))?;
    let base = vm.code().images().get(region.image).base;
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
    vm.code_mut().images_mut().put_off_limits(start, end);
    changes::fragments(vm, start, end);
}

/// Whether `address` looks like an abort handler for which the app will build a descriptor.
fn is_abort_handler(vm: &Vm, address: u64) -> bool {
    if vm.code().images().region(AppPc(address)).is_none() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use crate::testing::sequence::{
        ABORT, ANNOUNCED, DESCRIPTOR, EARLIER, LEN, SIGNATURE, START, describe, world,
    };
    use ppin_codecache::fresh::Fresh;

    /// What the descriptor with these words describes.
    fn described(words: [u64; 4]) -> Option<Sequence> {
        let mut world = world();
        let start = world.start;
        let [kind, at, len, abort] = words;
        describe(
            &mut world,
            DESCRIPTOR,
            [kind, start + at, len, start + abort],
        );
        descriptor(&mut world.vm, start + DESCRIPTOR)
    }

    #[test]
    fn a_descriptor_is_believed_if_the_kernel_would_accept_it() {
        let sequence = described([0, START, LEN, ABORT]).expect("as the app has it");
        assert_eq!(sequence.end.0 - sequence.start.0, LEN);
        assert_eq!(
            (sequence.abort.0 - sequence.start.0, sequence.signature),
            (ABORT - START, SIGNATURE)
        );
        for wrong in [
            [1, START, LEN, ABORT],
            [0, START, 0, ABORT],
            [0, START, LONGEST + 1, EARLIER],
            [0, START, ABORT - START + 1, ABORT],
            [0, START, LEN, ABORT + 1],
            [0, 1 << 30, LEN, ABORT],
            [0, 8 * 4096 - 2, LEN, ABORT],
        ] {
            assert_eq!(described(wrong), None, "{wrong:x?}");
        }
        assert!(described([0, START, LONGEST, EARLIER]).is_some());
    }

    #[test]
    fn a_descriptor_is_aligned_and_readable() {
        let mut world = world();
        let start = world.start;
        let words = [0, start + START, LEN, start + ABORT];
        describe(&mut world, DESCRIPTOR + 0x104, words);
        assert!(descriptor(&mut world.vm, start + DESCRIPTOR + 0x104).is_none());
        assert!(descriptor(&mut world.vm, 0).is_none() && descriptor(&mut world.vm, 8).is_none());
        assert_eq!(world.vm.rseq().known(), 0);
    }

    #[test]
    fn code_that_names_a_sequence_is_translated_in_every_run() {
        let mut world = world();
        let entry = world.look_up(ANNOUNCED);
        assert_eq!(world.vm.rseq().known(), 1);
        assert_eq!(world.fresh(entry).unsaved(), None, "it is not saved");
        let other = world.look_up(ABORT);
        assert!(world.fresh(other).unsaved().is_some());
        assert!(!world.vm.rseq().is_watching());
    }

    #[test]
    fn translations_of_a_sequence_are_discarded_when_it_is_learned() {
        let mut world = world();
        let (inside, before, beside) = (START + 1, START - 1, ABORT);
        world.put(before, &[0xc3]);
        let entries = [inside, before, beside].map(|offset| world.look_up(offset));
        world.look_up(ANNOUNCED);
        let in_use = entries.map(|entry| Fresh::is_in_use(world.fresh(entry)));
        assert_eq!(in_use, [false, false, true]);
        assert_eq!(world.vm.rseq().known(), 1);
    }

    #[test]
    fn an_abort_handler_without_a_descriptor_has_all_stores_watched() {
        let mut world = world();
        // mov rax, imm64; ret
        let handler = world.start + ABORT;
        let mut code = alloc::vec![0x48, 0xb8];
        code.extend(handler.to_le_bytes());
        world.put(0, &[&code[..], &[0xc3]].concat());
        world.look_up(0);
        assert!(world.vm.rseq().is_watching());
        assert!(
            !world.vm.library().may_save(),
            "what is watched is not saved"
        );
    }

    #[test]
    fn a_number_is_an_address_only_near_its_code() {
        let pc = AppPc(1 << 40);
        let number = |n| address(pc, Constant::Number(n));
        assert_eq!(number(pc.0 + NEAR - 1), Some(pc.0 + NEAR - 1));
        assert_eq!(
            [number(pc.0 + NEAR), number(pc.0 - NEAR), number(7)],
            [None; 3]
        );
        assert_eq!(address(pc, Constant::Address(7)), Some(7));
        // Programs that lie low have such code.
        let low = |n| address(AppPc(4 << 20), Constant::Number(n));
        assert_eq!([low(LOWEST - 8), low(LOWEST)], [None, Some(LOWEST)]);
        assert_eq!(
            address(pc, Constant::Load(8)),
            None,
            "nothing can be read there"
        );
    }

    /// A world whose thread has this value in its `rseq_cs`.
    fn announced(value: u64, world: &mut World) -> bool {
        let field = world.start + 0x800;
        world.put(0x800, &value.to_le_bytes());
        world.thread.area.rseq.field = field;
        announced_unseen(&mut world.vm, world.thread);
        world.vm.rseq().is_watching()
    }

    #[test]
    fn a_sequence_that_was_announced_unseen_has_all_stores_watched() {
        let mut one = world();
        let descriptor = one.start + DESCRIPTOR;
        assert!(!announced(0, &mut one) && !announced(descriptor + 8, &mut one));
        assert!(announced(descriptor, &mut one));
        let mut two = world();
        let descriptor = two.start + DESCRIPTOR;
        two.look_up(ANNOUNCED);
        assert!(!announced(descriptor, &mut two), "its code was seen");
    }
}
