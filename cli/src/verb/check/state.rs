//! The state of a process that is compared: registers, flags and vectors.

use super::native::Native;
use super::ours::{Ours, Report};
use std::fmt;
use std::os::unix::fs::FileExt;

/// Hardware numbers of registers that are needed by name.
pub mod reg {
    pub const RAX: usize = 0;
    pub const RCX: usize = 1;
    pub const RDX: usize = 2;
    pub const RBX: usize = 3;
    pub const RSP: usize = 4;
    pub const RSI: usize = 6;
}

const NAMES: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
];
/// CF, PF, AF, ZF, SF, DF, OF.
const FLAGS: u64 = 0xcd5;
const DF: u64 = 0x400;
const ARITHMETIC: u64 = FLAGS & !DF;
/// `Regs` of the engine: 16 registers, flags, mxcsr; xmm0 to xmm15 follow.
const REGS: usize = 18 * 8;
const XMM: usize = 16 * 16;

/// A process at one instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Where.
    pub pc: u64,
    /// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub gpr: [u64; 16],
    flags: u64,
    xmm: [u128; 16],
    fs_base: u64,
}

/// A register that is not the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    name: String,
    native: u128,
    ours: u128,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:8}  {:#18x}  {:#18x}",
            self.name, self.native, self.ours
        )
    }
}

impl State {
    /// The native process.
    pub fn of_native(native: &Native) -> Result<Self, String> {
        let r = native.regs()?;
        let words = native.xmm()?;
        let gpr = [
            r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11,
            r.r12, r.r13, r.r14, r.r15,
        ];
        let xmm = std::array::from_fn(|n| {
            (0..4).fold(0, |value, part| {
                value | u128::from(words[4 * n + part]) << (32 * part)
            })
        });
        Ok(Self {
            pc: r.rip,
            gpr,
            flags: r.eflags,
            xmm,
            fs_base: r.fs_base,
        })
    }

    /// The app under ppin, as the report says.
    pub fn of_ours(ours: &Ours, report: &Report) -> Result<Self, String> {
        let mut bytes = [0; REGS + XMM];
        let read = ours.mem.read_exact_at(&mut bytes, report.regs);
        read.map_err(|error| format!("the registers under ppin: {error}"))?;
        let word = |n: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * n + byte]));
        let wide =
            |n: usize| u128::from_le_bytes(std::array::from_fn(|byte| bytes[REGS + 16 * n + byte]));
        Ok(Self {
            pc: report.pc,
            gpr: std::array::from_fn(word),
            flags: word(16),
            xmm: std::array::from_fn(wide),
            fs_base: report.fs_base,
        })
    }

    /// Stack pointer.
    pub fn sp(&self) -> u64 {
        self.gpr[reg::RSP]
    }

    /// Writes the general registers back.
    pub fn give_to(&self, ours: &Ours, report: &Report) -> Result<(), String> {
        let bytes: Vec<u8> = self
            .gpr
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let written = ours.mem.write_all_at(&bytes, report.regs);
        written.map_err(|error| format!("the registers under ppin: {error}"))
    }

    /// Takes the arithmetic flags of `other`: nobody uses their own.
    pub fn take_flags_of(&mut self, other: &Self) {
        self.flags = self.flags & !ARITHMETIC | other.flags & ARITHMETIC;
    }

    /// Differences between the native state `self` and ours.
    pub fn differences(&self, ours: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut compare = |name: &str, native: u128, ours: u128| {
            if native != ours {
                found.push(Difference {
                    name: name.to_owned(),
                    native,
                    ours,
                });
            }
        };
        compare("pc", self.pc.into(), ours.pc.into());
        for (n, name) in NAMES.iter().enumerate() {
            compare(name, self.gpr[n].into(), ours.gpr[n].into());
        }
        compare(
            "flags",
            (self.flags & FLAGS).into(),
            (ours.flags & FLAGS).into(),
        );
        compare("fs base", self.fs_base.into(), ours.fs_base.into());
        for n in 0..16 {
            compare(&format!("xmm{n}"), self.xmm[n], ours.xmm[n]);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            pc: 1,
            gpr: [7; 16],
            flags: 0x246,
            xmm: [9; 16],
            fs_base: 3,
        }
    }

    #[test]
    fn every_part_is_compared() {
        let changes: [fn(&mut State); 5] = [
            |s| s.pc += 1,
            |s| s.gpr[15] += 1,
            |s| s.flags ^= 0x400,
            |s| s.xmm[15] ^= 1 << 127,
            |s| s.fs_base += 1,
        ];
        for change in changes {
            let mut ours = state();
            change(&mut ours);
            assert_eq!(state().differences(&ours).len(), 1);
        }
        // The stepper sets the trap flag; the interrupt flag is always set.
        let stepped = State {
            flags: 0x346,
            ..state()
        };
        assert_eq!(stepped.differences(&state()), []);
    }
}
