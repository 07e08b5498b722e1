//! Evaluates seccomp filters before a call is made.
//!
//! A program that confines itself (seccomp(2)) confines what shares its memory, too. A
//! filter can end the program for one call, so whoever wants to make calls of his own
//! there must know the verdict before. [`Filter`] runs one program of the classic
//! packet filter as the kernel does, [`Confinement`] combines all that a thread has
//! installed. Pure logic: no allocation and no lock at a decision.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod action;
mod confinement;
mod filter;
mod insn;
mod op;

pub use action::Action;
pub use confinement::{Confinement, Rule};
pub use filter::Filter;
pub use insn::Insn;

/// `AUDIT_ARCH_X86_64`.
pub const ARCH_X86_64: u32 = 0xc000_003e;

/// A call as a filter sees it (`struct seccomp_data`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Number.
    pub nr: u32,
    /// Convention, [`ARCH_X86_64`] as a rule.
    pub arch: u32,
    /// Address behind the instruction.
    pub ip: u64,
    /// Arguments.
    pub args: [u64; 6],
}

impl Call {
    /// Bytes of the structure.
    pub(crate) const SIZE: u32 = 64;

    /// The aligned 32-bit word at byte `offset`, if that lies inside.
    pub(crate) fn word(&self, offset: u32) -> Option<u32> {
        if !offset.is_multiple_of(4) || offset >= Self::SIZE {
            return None;
        }
        let half = |value: u64| (value >> (offset % 8 * 8)) as u32;
        Some(match offset {
            0 => self.nr,
            4 => self.arch,
            8 | 12 => half(self.ip),
            _ => half(self.args[(offset as usize - 16) / 8]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Call;

    #[test]
    fn words_are_those_of_the_kernels_structure() {
        let call = Call {
            nr: 1,
            arch: 2,
            ip: 0x4_0000_0003,
            args: [0x6_0000_0005, 0, 0, 0, 0, 0x8_0000_0007],
        };
        let at = |offset| call.word(offset);
        assert_eq!([0, 4, 8, 12, 16, 20].map(at), [1, 2, 3, 4, 5, 6].map(Some));
        assert_eq!([56, 60].map(at), [7, 8].map(Some));
        assert_eq!([64, 2, 63, u32::MAX].map(at), [None; 4]);
    }
}
