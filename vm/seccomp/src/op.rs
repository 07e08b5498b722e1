//! Instructions of the classic packet filter as far as the kernel accepts them from
//! filters of system calls (`seccomp_check_filter`).

use crate::Call;
use crate::insn::Insn;

/// Words of scratch memory.
pub(crate) const MEMORY: usize = 16;

/// Second operand: the constant or the index register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Constant(u32),
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    Or,
    And,
    Left,
    Right,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Equal,
    Greater,
    AtLeast,
    AnyBit,
}

/// One instruction. Jumps name their target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    LoadCall(u32),
    Load(u32),
    LoadIndex(u32),
    LoadMemory(usize),
    LoadIndexMemory(usize),
    Store(usize),
    StoreIndex(usize),
    ToIndex,
    FromIndex,
    Negate,
    Compute(Alu, Source),
    Jump(usize),
    Branch(Test, Source, usize, usize),
    Return(u32),
    ReturnAccumulator,
}

impl Op {
    /// Decodes instruction number `at` of `len`; `None`: the kernel does not accept it.
    pub(crate) fn decode(insn: Insn, at: usize, len: usize) -> Option<Self> {
        const LEN: u32 = Call::SIZE;
        let k = insn.k;
        Some(match insn.code {
            0x20 if k.is_multiple_of(4) && k < LEN => Self::LoadCall(k),
            0x80 => Self::Load(LEN),
            0x81 => Self::LoadIndex(LEN),
            0x00 => Self::Load(k),
            0x01 => Self::LoadIndex(k),
            0x60 => Self::LoadMemory(cell(k)?),
            0x61 => Self::LoadIndexMemory(cell(k)?),
            0x02 => Self::Store(cell(k)?),
            0x03 => Self::StoreIndex(cell(k)?),
            0x07 => Self::ToIndex,
            0x87 => Self::FromIndex,
            0x84 => Self::Negate,
            0x06 => Self::Return(k),
            0x16 => Self::ReturnAccumulator,
            0x05 => Self::Jump(target(at, k as usize, len)?),
            code if code & 7 == 4 => compute(code, k)?,
            code if code & 7 == 5 => {
                let to = |distance: u8| target(at, usize::from(distance), len);
                Self::Branch(test(code)?, source(code, k), to(insn.jt)?, to(insn.jf)?)
            }
            _ => return None,
        })
    }
}

fn cell(k: u32) -> Option<usize> {
    Some(k as usize).filter(|k| *k < MEMORY)
}

fn target(at: usize, distance: usize, len: usize) -> Option<usize> {
    Some(at + 1 + distance).filter(|to| *to < len)
}

fn source(code: u16, k: u32) -> Source {
    const X: u16 = 8;
    if code & X == 0 {
        Source::Constant(k)
    } else {
        Source::Index
    }
}

fn compute(code: u16, k: u32) -> Option<Op> {
    const BITS: u32 = 32;
    let source = source(code, k);
    let alu = match code & !8 {
        0x04 => Alu::Add,
        0x14 => Alu::Sub,
        0x24 => Alu::Mul,
        0x34 if source != Source::Constant(0) => Alu::Div,
        0x44 => Alu::Or,
        0x54 => Alu::And,
        0x64 if source == Source::Index || k < BITS => Alu::Left,
        0x74 if source == Source::Index || k < BITS => Alu::Right,
        0xa4 => Alu::Xor,
        _ => return None,
    };
    Some(Op::Compute(alu, source))
}

fn test(code: u16) -> Option<Test> {
    Some(match code & !8 {
        0x15 => Test::Equal,
        0x25 => Test::Greater,
        0x35 => Test::AtLeast,
        0x45 => Test::AnyBit,
        _ => return None,
    })
}

impl Alu {
    /// `None`: a division by zero, at which the kernel ends the filter.
    pub(crate) fn apply(self, a: u32, b: u32) -> Option<u32> {
        Some(match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::Div => a.checked_div(b)?,
            Self::Or => a | b,
            Self::And => a & b,
            Self::Left => a.wrapping_shl(b),
            Self::Right => a.wrapping_shr(b),
            Self::Xor => a ^ b,
        })
    }
}

impl Test {
    pub(crate) fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Self::Equal => a == b,
            Self::Greater => a > b,
            Self::AtLeast => a >= b,
            Self::AnyBit => a & b != 0,
        }
    }
}
