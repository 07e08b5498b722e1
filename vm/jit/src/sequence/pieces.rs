//! The instructions of a sequence, and its straight pieces.

use crate::request::{Request, Sequence};
use crate::trace::check;
use alloc::vec::Vec;
use ppin_decode::{Ins, InsReader, Kind};

/// The instructions up to the end, or up to the first that cannot be told.
pub(super) fn read(request: &Request<'_>) -> Vec<Ins> {
    let mut reader = InsReader::new(request.pc, request.bytes);
    let read = || reader.read().ok();
    let mut all: Vec<Ins> = core::iter::from_fn(read).collect();
    for ins in &mut all {
        check(ins, request, request.bytes);
    }
    all
}

/// Indices at which a straight piece begins: what is branched to, and what follows
/// an instruction that never goes on.
pub(super) fn piece_starts(ins: &[Ins], sequence: &Sequence) -> Vec<usize> {
    let targets = ins.iter().filter_map(|i| inside(i, ins, sequence));
    let behind = (1..)
        .zip(ins)
        .filter(|(_, i)| !i.kind.falls_through() || leaves(i))
        .map(|(n, _)| n);
    let at_leaving = (0..).zip(ins).filter(|(_, i)| leaves(i)).map(|(n, _)| n);
    let mut starts: Vec<usize> = [0]
        .into_iter()
        .chain(targets)
        .chain(behind)
        .chain(at_leaving)
        .filter(|n| *n < ins.len())
        .collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Index of the instruction that `branch` leads to, if that is in the sequence.
pub(super) fn inside(branch: &Ins, ins: &[Ins], sequence: &Sequence) -> Option<usize> {
    let direct = matches!(branch.kind, Kind::Jump | Kind::CondJump | Kind::ShortJump);
    let target = direct
        .then(|| branch.target())
        .filter(|t| sequence.holds(*t))?;
    ins.iter().position(|i| i.pc() == target)
}

/// Whether it goes where nothing is protected any more: it is translated on its own,
/// outside.
pub(super) fn leaves(ins: &Ins) -> bool {
    matches!(
        ins.kind,
        Kind::Call
            | Kind::IndirectCall
            | Kind::IndirectJump
            | Kind::Ret
            | Kind::Syscall
            | Kind::TransactionBegin
            | Kind::Faulting
    )
}

/// Whether nothing comes behind its own effect.
pub(super) fn exact(ins: &Ins) -> bool {
    let kind = matches!(
        ins.kind,
        Kind::Verbatim
            | Kind::RipRelative
            | Kind::Cpuid
            | Kind::Jump
            | Kind::CondJump
            | Kind::ShortJump
    );
    kind && ins.x87_pointer.is_none()
}
