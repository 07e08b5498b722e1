//! Which jumps go by a table at a known place, as compilers make them of a `switch` or of computed labels:
//!
//! ```text
//!        cmp edi, 30                      or another proof that the index is small
//!        ja default
//!        mov edi, edi
//!        lea rdx, [rip + table]
//!        movsxd rax, [rdx + rdi*4]        or of addresses: mov rax, [rdx + rdi*8]
//!        add rax, rdx
//!        jmp rax                          or jmp [rdx + rdi*8], jmp [table + rdi*8]
//! ```
//! Where the table lies and how large the index can be is proved from instructions of the same trace, and nobody may
//! enter between them and the jump. So while the table does not change, the index alone tells where the jump goes.
//!
//! In loops, as those of interpreters, compilers keep the table's address in a register, which has it from before the
//! trace. Where it lies is to be asked at the jump then.

mod place;
mod small;

use crate::touched::Touched;
use crate::{Gpr, Ins, Kind, RegSet};
use core::ops::Range;
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use place::Base;
pub use place::Place;
use small::Proof;

/// Most entries that a table may have.
const MOST: u64 = 256;

/// A jump by a table of the app's, the last instruction of its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByTable {
    /// The instruction that reads the table: before it, `index` has the index.
    pub load: usize,
    /// See `load`.
    pub index: Gpr,
    /// Where the table lies.
    pub table: Place,
    /// Bytes of an entry: 8, an address; or 4, a distance from the table.
    pub bytes: u8,
    /// The index is less than this.
    pub count: u16,
    /// The first instruction that proves something of that.
    pub since: usize,
}

/// How the jump at the end of `ins` goes by a table, if it does.
#[must_use]
pub fn of(ins: &[Ins]) -> Option<ByTable> {
    let last = ins.len().checked_sub(1)?;
    let jump = ins.last().filter(|jump| jump.kind == Kind::IndirectJump)?;
    let (load, added) = match jump.raw.op0_kind() {
        OpKind::Memory => (last, None),
        OpKind::Register => load(&ins[..last], Gpr::holding(jump.raw.op0_register())?)?,
        _ => return None,
    };
    let raw = &ins[load].raw;
    let index = index(raw)?;
    let table = Base::of_table(&ins[..load], raw)?;
    if added.is_some_and(|added| added.place != table.place) || !table.stays(&ins[load..last]) {
        return None;
    }
    let small = Proof { ins }.of(index, load)?;
    let bases = [Some(table), added].into_iter().flatten();
    let since = bases
        .filter_map(|it| it.since)
        .fold(small.since, usize::min);
    Some(ByTable {
        load,
        index,
        table: table.place,
        bytes: raw.memory_size().size() as u8,
        count: u16::try_from(small.most + 1).ok()?,
        since,
    })
}

/// Registers that the instructions `range` of `ins` touch.
///
/// # Panics
/// They are not there.
#[must_use]
pub fn touched(ins: &[Ins], range: Range<usize>) -> RegSet {
    let mut factory = InstructionInfoFactory::new();
    let all = ins[range].iter().map(|ins| Touched::of(ins, &mut factory));
    all.fold(RegSet::NONE, |set, it| {
        set.or(it.needed).or(it.overwritten).or(it.changed)
    })
}

/// Whether one of the instructions `range` of `ins` may change `register`.
///
/// # Panics
/// They are not there.
#[must_use]
pub fn changes(ins: &[Ins], range: Range<usize>, register: Gpr) -> bool {
    range.into_iter().any(|at| writes(&ins[at], register))
}

fn writes(ins: &Ins, register: Gpr) -> bool {
    // (What is called may do anything.)
    let touched = || Touched::of(ins, &mut InstructionInfoFactory::new());
    !is_plain(ins) || touched().changed.contains(register)
}

/// Whether it does no more to registers than it says.
fn is_plain(ins: &Ins) -> bool {
    matches!(
        ins.kind,
        Kind::Verbatim | Kind::RipRelative | Kind::CondJump | Kind::Jump | Kind::IndirectJump
    )
}

/// The instruction of `ins` from which `target` comes: a load from a table of addresses; or from one of distances,
/// and the address that has been added.
fn load(ins: &[Ins], target: Gpr) -> Option<(usize, Option<Base>)> {
    let at = writer(ins, RegSet::of(&[target]))?;
    let raw = &ins[at].raw;
    if is_load(raw, target, Mnemonic::Mov) {
        return Some((at, None));
    }
    let adds = raw.mnemonic() == Mnemonic::Add && raw.op1_kind() == OpKind::Register;
    let added = Gpr::holding(raw.op1_register()).filter(|_| adds)?;
    let before = &ins[..at];
    let by = |distance: Gpr, base: Gpr| {
        let load = writer(before, RegSet::of(&[distance]))?;
        let loads = is_load(&ins[load].raw, distance, Mnemonic::Movsxd);
        loads.then(|| (load, Some(Base::of(before, base))))
    };
    by(target, added).or_else(|| by(added, target))
}

/// The last of `ins` that may change one of `registers`.
fn writer(ins: &[Ins], registers: RegSet) -> Option<usize> {
    ins.iter()
        .rposition(|ins| registers.iter().any(|register| writes(ins, register)))
}

fn is_load(raw: &Instruction, to: Gpr, mnemonic: Mnemonic) -> bool {
    raw.mnemonic() == mnemonic
        && raw.op0_register() == to.named()
        && raw.op1_kind() == OpKind::Memory
}

/// The register that counts entries of the size that `raw` reads.
fn index(raw: &Instruction) -> Option<Gpr> {
    let index = raw.memory_index();
    let based = matches!(raw.segment_prefix(), Register::FS | Register::GS);
    let whole = index.is_gpr64() && !based;
    let entry = raw.memory_size().size() == raw.memory_index_scale() as usize;
    Gpr::holding(index).filter(|_| whole && entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InsReader;
    use alloc::vec::Vec;
    use ppin_abi::addr::AppPc;

    fn read(bytes: &[u8]) -> Vec<Ins> {
        let mut reader = InsReader::new(AppPc(0x1000), bytes);
        core::iter::from_fn(|| reader.read().ok()).collect()
    }

    fn found(parts: &[&[u8]]) -> Option<ByTable> {
        of(&read(&parts.concat()))
    }

    const CMP_EDI_30: &[u8] = &[0x83, 0xff, 30];
    const JA: &[u8] = &[0x0f, 0x87, 0, 1, 0, 0];
    const MOV_EDI_EDI: &[u8] = &[0x89, 0xff];
    const LEA_RDX: &[u8] = &[0x48, 0x8d, 0x15, 0, 1, 0, 0];
    /// `movsxd rax, [rdx + rdi*4]`
    const LOAD: &[u8] = &[0x48, 0x63, 0x04, 0xba];
    const ADD_RAX_RDX: &[u8] = &[0x48, 0x01, 0xd0];
    const JMP_RAX: &[u8] = &[0xff, 0xe0];
    /// `movzx edi, byte [rsi]`
    const MOVZX: &[u8] = &[0x0f, 0xb6, 0x3e];
    /// `mov rax, [rdx + rdi*8]`
    const LOAD_ADDRESS: &[u8] = &[0x48, 0x8b, 0x04, 0xfa];
    /// `jmp [rdx + rdi*8]`
    const JMP_MEMORY: &[u8] = &[0xff, 0x24, 0xfa];
    const CALL: &[u8] = &[0xe8, 0, 1, 0, 0];

    /// What `parts` say: the load, the first instruction of the proof, bytes of an entry and how many there are.
    fn known(parts: &[&[u8]]) -> Option<(usize, usize, u8, u16)> {
        let found = found(parts)?;
        assert_eq!(found.index, Gpr::RDI);
        Some((found.load, found.since, found.bytes, found.count))
    }

    #[test]
    fn switches_are_found() {
        let all = [
            CMP_EDI_30,
            JA,
            MOV_EDI_EDI,
            LEA_RDX,
            LOAD,
            ADD_RAX_RDX,
            JMP_RAX,
        ];
        assert_eq!(known(&all), Some((4, 0, 4, 31)));
        assert_eq!(
            found(&all).map(|it| it.table),
            Some(Place::Known(AppPc(0x1000 + 18 + 0x100)))
        );
        let all = [LEA_RDX, MOVZX, LOAD, ADD_RAX_RDX, JMP_RAX];
        assert_eq!(known(&all), Some((2, 0, 4, 256)));
        // add rdx, rax; jmp rdx
        let all = [LEA_RDX, MOVZX, LOAD, &[0x48, 0x01, 0xc2], &[0xff, 0xe2]];
        assert_eq!(known(&all), Some((2, 0, 4, 256)));
    }

    #[test]
    fn tables_of_addresses_are_found() {
        assert_eq!(
            known(&[LEA_RDX, MOVZX, LOAD_ADDRESS, JMP_RAX]),
            Some((2, 0, 8, 256))
        );
        assert_eq!(known(&[LEA_RDX, MOVZX, JMP_MEMORY]), Some((2, 0, 8, 256)));
        // jmp [rdi*8 + 0x5000]
        let absolute = &[MOVZX, &[0xff, 0x24, 0xfd, 0, 0x50, 0, 0]];
        assert_eq!(known(absolute), Some((1, 0, 8, 256)));
        let table = found(absolute).map(|it| it.table);
        assert_eq!(table, Some(Place::Known(AppPc(0x5000))));
    }

    /// The same of a table at rdx.
    fn held(parts: &[&[u8]]) -> Option<(usize, usize, u8, u16)> {
        let rdx = |it: ByTable| it.table == Place::Held(Gpr::RDX);
        known(parts).filter(|_| found(parts).is_some_and(rdx))
    }

    #[test]
    fn a_register_may_say_where_the_table_lies() {
        let far = [LOAD, ADD_RAX_RDX, JMP_RAX].concat();
        assert_eq!(held(&[MOVZX, LOAD_ADDRESS, JMP_RAX]), Some((1, 0, 8, 256)));
        assert_eq!(held(&[MOVZX, JMP_MEMORY]), Some((1, 0, 8, 256)));
        assert_eq!(held(&[MOVZX, &far]), Some((1, 0, 4, 256)));
        // mov rdx, [rsp]; add rdx, 8
        for other in [&[0x48, 0x8b, 0x14, 0x24], &[0x48, 0x83, 0xc2, 8]] {
            let all = [LEA_RDX, other, MOVZX, &far];
            assert_eq!(held(&all), Some((3, 2, 4, 256)));
        }
        // From the load to the jump it says the same: not if mov rdx, rax; add rdx, rax comes between.
        let moved = [MOVZX, LOAD, ADD_RAX_RDX, &[0x48, 0x89, 0xc2], JMP_RAX];
        assert_eq!(found(&moved), None);
        let added = [MOVZX, LOAD, &[0x48, 0x01, 0xc2], &[0xff, 0xe2]];
        assert_eq!(found(&added), None);
        // jmp [rdx + rdi*8 + 8]; jmp [rsp + rdi*8]
        for other in [&[0xff, 0x64, 0xfa, 8][..], &[0xff, 0x24, 0xfc]] {
            assert_eq!(found(&[MOVZX, other]), None);
        }
    }

    #[test]
    fn a_table_that_may_be_another_is_none() {
        assert_eq!(found(&[LEA_RDX, MOVZX, CALL, JMP_MEMORY]), None);
        // What is added is another address than the table's.
        assert_eq!(
            found(&[LEA_RDX, MOVZX, LOAD, LEA_RDX, ADD_RAX_RDX, JMP_RAX]),
            None
        );
        assert_eq!(
            found(&[LEA_RDX, MOVZX, LOAD, &[0x48, 0x01, 0xf0], JMP_RAX]),
            None
        );
    }

    const REST: [&[u8]; 4] = [LEA_RDX, LOAD, ADD_RAX_RDX, JMP_RAX];

    #[test]
    fn an_index_that_may_be_large_is_none() {
        let with = |before: &[&[u8]]| known(&[before, &REST].concat());
        assert_eq!(with(&[]), None);
        // Its upper half may be anything.
        assert_eq!(with(&[CMP_EDI_30, JA]), None);
        // The comparison is of another value; the branch of another comparison.
        assert_eq!(with(&[CMP_EDI_30, JA, &[0xff, 0xc7], MOV_EDI_EDI]), None);
        assert_eq!(with(&[CMP_EDI_30, &[0x39, 0xc0], JA, MOV_EDI_EDI]), None);
        // jl; and the limit is too large.
        assert_eq!(
            with(&[CMP_EDI_30, &[0x0f, 0x8c, 0, 1, 0, 0], MOV_EDI_EDI]),
            None
        );
        assert_eq!(with(&[&[0x81, 0xff, 0, 1, 0, 0], JA, MOV_EDI_EDI]), None);
        let below = [
            &[0x81, 0xff, 0, 1, 0, 0][..],
            &[0x0f, 0x83, 0, 1, 0, 0],
            MOV_EDI_EDI,
        ];
        assert_eq!(with(&below), Some((4, 0, 4, 256)));
        // movzx edi, word [rsi]; what is called may write to it; a part of it changes; a condition decides.
        assert_eq!(with(&[&[0x0f, 0xb7, 0x3e]]), None);
        assert_eq!(with(&[MOVZX, CALL]), None);
        assert_eq!(with(&[MOVZX, &[0x66, 0x89, 0xf7]]), None);
        assert_eq!(with(&[MOVZX, &[0x0f, 0x44, 0xfe]]), None);
        // and edi, -16; cmp rdi, -1
        assert_eq!(with(&[&[0x83, 0xe7, 0xf0]]), None);
        assert_eq!(with(&[&[0x48, 0x83, 0xff, 0xff], JA]), None);
    }

    #[test]
    fn what_is_small_proves_itself() {
        let with = |before: &[&[u8]]| known(&[before, &REST].concat());
        // and edi, 31; cmp rdi, 30; xor edi, eax and a comparison
        assert_eq!(with(&[&[0x83, 0xe7, 31]]), Some((2, 0, 4, 32)));
        assert_eq!(with(&[&[0x48, 0x83, 0xff, 30], JA]), Some((3, 0, 4, 31)));
        assert_eq!(with(&[&[0x31, 0xc7], CMP_EDI_30, JA]), Some((4, 0, 4, 31)));
        // cmp al, 0xb5; movzx edi, al: the comparison says more; not one of ah
        let movzx = &[0x0f, 0xb6, 0xf8][..];
        assert_eq!(with(&[&[0x3c, 0xb5], JA, movzx]), Some((4, 0, 4, 0xb6)));
        assert_eq!(
            with(&[&[0x80, 0xfc, 0x15], JA, movzx]),
            Some((4, 2, 4, 256))
        );
        assert_eq!(with(&[movzx, CMP_EDI_30, JA]), Some((4, 0, 4, 31)));
        // mov edi, ecx behind a comparison of ecx; of which the upper half does not matter
        assert_eq!(
            with(&[&[0x83, 0xf9, 30], JA, &[0x89, 0xcf]]),
            Some((4, 0, 4, 31))
        );
    }

    #[test]
    fn other_jumps_are_not_by_tables() {
        // add rax, 8; the load is of one register; xor; jmp [rdx + rdi*4]
        assert_eq!(
            found(&[LEA_RDX, MOVZX, LOAD, &[0x48, 0x83, 0xc0, 8], JMP_RAX]),
            None
        );
        assert_eq!(found(&[&[0x48, 0x8b, 0x02], JMP_RAX]), None);
        assert_eq!(
            found(&[LEA_RDX, MOVZX, LOAD, &[0x48, 0x31, 0xd0], JMP_RAX]),
            None
        );
        assert_eq!(found(&[LEA_RDX, MOVZX, &[0xff, 0x24, 0xba]]), None);
        assert_eq!(found(&[LEA_RDX, MOVZX, &[0xc3]]), None);
    }
}
