//! How large a register can be, as instructions of a trace say that come before.

use super::{MOST, is_plain, writer};
use crate::{Gpr, Ins, Kind, RegSet};
use core::ops::Range;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// A register has no more than `most`, as the instructions from `since` on say.
#[derive(Clone, Copy)]
pub(super) struct Small {
    pub since: usize,
    pub most: u64,
}

/// What instructions say of the values of registers.
pub(super) struct Proof<'a> {
    pub ins: &'a [Ins],
}

impl Proof<'_> {
    /// How large `register` can be before instruction `at`, if it is small.
    pub(super) fn of(&self, register: Gpr, at: usize) -> Option<Small> {
        let writer = self.writer(register, at);
        let range = writer.map_or(0, |at| at + 1)..at;
        let ways = [
            writer.and_then(|at| self.made(register, at)),
            self.compared(register, 8, range.clone()),
            writer.and_then(|writer| self.narrow(register, writer, range)),
        ];
        ways.into_iter().flatten().min_by_key(|small| small.most)
    }

    /// The same, if instruction `writer` has made the upper half of it 0.
    fn narrow(&self, register: Gpr, writer: usize, range: Range<usize>) -> Option<Small> {
        let raw = &self.ins[writer].raw;
        if !is_narrow(raw, register) {
            return None;
        }
        let compared = self.compared(register, 4, range);
        let small = compared.or_else(|| {
            let other = Gpr::holding(raw.op1_register()).filter(|_| is_narrow_move(raw))?;
            self.half(other, writer)
        })?;
        let since = small.since.min(writer);
        Some(Small { since, ..small })
    }

    /// How large the lower half of `register` can be before instruction `at`.
    fn half(&self, register: Gpr, at: usize) -> Option<Small> {
        let writer = self.writer(register, at);
        let made = writer.and_then(|at| self.made(register, at));
        made.or_else(|| self.compared(register, 4, writer.map_or(0, |at| at + 1)..at))
    }

    fn writer(&self, register: Gpr, at: usize) -> Option<usize> {
        writer(&self.ins[..at], RegSet::of(&[register]))
    }

    /// What instruction `at` makes `register`.
    fn made(&self, register: Gpr, at: usize) -> Option<Small> {
        let ins = &self.ins[at];
        let most = most_made(&ins.raw, register).filter(|_| is_plain(ins))?;
        let byte = low_byte_moved(&ins.raw).and_then(|from| {
            let since = self.writer(from, at).map_or(0, |at| at + 1);
            self.compared(from, 1, since..at)
        });
        Some(byte.unwrap_or(Small { since: at, most }))
    }

    /// What `bytes` of `register` are compared with among the instructions `range`, if control leaves the trace where
    /// they are more.
    fn compared(&self, register: Gpr, bytes: usize, range: Range<usize>) -> Option<Small> {
        let pair = |since: usize| match &self.ins[since..range.end.min(since + 2)] {
            [compare, branch] if branch.kind == Kind::CondJump && !branch.followed => {
                let limit = limit(&compare.raw, register, bytes)?;
                let most = most_below(&branch.raw, limit).filter(|most| *most < MOST)?;
                Some(Small { since, most })
            }
            _ => None,
        };
        range.clone().rev().find_map(pair)
    }
}

/// What `raw` compares so many bytes of `register` with.
fn limit(raw: &Instruction, register: Gpr, bytes: usize) -> Option<u64> {
    let own = raw.mnemonic() == Mnemonic::Cmp && raw.op0_kind() == OpKind::Register;
    let same = Gpr::holding(raw.op0_register()) == Some(register);
    let whole = raw.op0_register().size() == bytes && !is_high_byte(raw.op0_register());
    let limit = raw.try_immediate(1).ok()?;
    // (Of a byte, all of the constant counts.)
    (own && same && whole).then_some(if bytes == 1 { limit & 0xff } else { limit })
}

/// The largest value that the branch `raw` does not leave with, after a comparison with `limit`.
fn most_below(raw: &Instruction, limit: u64) -> Option<u64> {
    match raw.mnemonic() {
        Mnemonic::Ja => Some(limit),
        Mnemonic::Jae => limit.checked_sub(1),
        _ => None,
    }
}

/// The largest value that `raw` can make of all of `register`, if that is small.
fn most_made(raw: &Instruction, register: Gpr) -> Option<u64> {
    let whole = raw.op_count() > 1 && raw.op0_kind() == OpKind::Register;
    let to = raw.op0_register();
    if !whole || to.size() < 4 || Gpr::holding(to) != Some(register) {
        return None;
    }
    let most = match raw.mnemonic() {
        Mnemonic::Movzx => {
            let bytes = match raw.op1_kind() {
                OpKind::Register => raw.op1_register().size(),
                _ => raw.memory_size().size(),
            };
            (1 << (8 * bytes)) - 1
        }
        Mnemonic::And => raw.try_immediate(1).ok()?,
        _ => return None,
    };
    (most < MOST).then_some(most)
}

/// The register whose low byte `raw` makes all of another one, if it does that.
fn low_byte_moved(raw: &Instruction) -> Option<Gpr> {
    let from = raw.op1_register();
    let moves = raw.mnemonic() == Mnemonic::Movzx && raw.op1_kind() == OpKind::Register;
    let byte = moves && from.size() == 1 && !is_high_byte(from);
    Gpr::holding(from).filter(|_| byte)
}

fn is_high_byte(register: Register) -> bool {
    matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    )
}

/// Whether `raw` writes to the lower half of `register`, whatever else it does: then the upper half is 0.
fn is_narrow(raw: &Instruction, register: Gpr) -> bool {
    let first = raw.op_count() > 0 && raw.op0_kind() == OpKind::Register;
    let to = raw.op0_register();
    let sure = matches!(
        raw.mnemonic(),
        Mnemonic::Mov
            | Mnemonic::Movzx
            | Mnemonic::Movsx
            | Mnemonic::Lea
            | Mnemonic::Add
            | Mnemonic::Sub
            | Mnemonic::And
            | Mnemonic::Or
            | Mnemonic::Xor
    );
    first && sure && to.is_gpr32() && Gpr::holding(to) == Some(register)
}

/// Whether `raw` moves the lower half of a register.
fn is_narrow_move(raw: &Instruction) -> bool {
    let from = raw.op1_kind() == OpKind::Register && raw.op1_register() != Register::None;
    raw.mnemonic() == Mnemonic::Mov && from && raw.op1_register().is_gpr32()
}
