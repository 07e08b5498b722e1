//! Which indirect branch has led somewhere, found out afterwards.
//!
//! Code in the cache does not note which branch it looks a target up for. Where that
//! has to be known (the target cannot be jumped to, so the fault is the branch's), the
//! app's code is followed from where the thread was last seen: a [`Line`] at a time,
//! until one ends with a branch that leads to the target.

use crate::{Ins, InsReader, Kind};
use alloc::vec::Vec;
use iced_x86::{OpKind, Register};
use ppin_abi::addr::AppPc;

/// General registers, in hardware order.
pub type Registers = [u64; 16];

/// What a branch may look at beside registers.
pub trait Surroundings {
    /// The word at `address`, if it can be read.
    fn word(&self, address: u64) -> Option<u64>;
    /// Base of the fs or gs segment.
    fn segment_base(&self, gs: bool) -> u64;
}

/// Straight app code up to where it certainly goes elsewhere.
pub struct Line {
    /// Other places to go to: targets of direct branches, the successor of the last
    /// instruction.
    pub targets: Vec<AppPc>,
    /// The indirect branch at its end.
    pub end: Option<IndirectBranch>,
}

/// See [`Line::end`].
pub struct IndirectBranch(Ins);

const RSP: usize = 4;

/// The line at `pc`, which consists of `bytes` and may be longer than they are.
#[must_use]
pub fn line(pc: AppPc, bytes: &[u8]) -> Line {
    let mut reader = InsReader::new(pc, bytes);
    let mut targets = Vec::new();
    let mut next = pc;
    while let Ok(ins) = reader.read() {
        next = ins.next();
        if ins.kind.is_direct_branch() {
            targets.push(ins.target());
        }
        if matches!(
            ins.kind,
            Kind::IndirectJump | Kind::IndirectCall | Kind::Ret
        ) {
            targets.extend((ins.kind == Kind::IndirectCall).then_some(next));
            let end = Some(IndirectBranch(ins));
            return Line { targets, end };
        }
        if ins.kind == Kind::Jump {
            return Line { targets, end: None };
        }
    }
    targets.extend((next != pc).then_some(next));
    Line { targets, end: None }
}

impl IndirectBranch {
    /// Its address.
    #[must_use]
    pub fn pc(&self) -> AppPc {
        self.0.pc()
    }

    /// The registers before it, if it leads to `target` with `after`.
    #[must_use]
    pub fn before(
        &self,
        after: &Registers,
        target: u64,
        around: &dyn Surroundings,
    ) -> Option<Registers> {
        let mut before = *after;
        before[RSP] = self.stack_before(after[RSP]);
        let called = self.0.kind == Kind::IndirectCall;
        if called && around.word(after[RSP]) != Some(self.0.next().0) {
            return None;
        }
        (self.target(&before, around) == Some(target)).then_some(before)
    }

    fn stack_before(&self, after: u64) -> u64 {
        match self.0.kind {
            Kind::Ret => after.wrapping_sub(8 + self.popped()),
            Kind::IndirectCall => after.wrapping_add(8),
            _ => after,
        }
    }

    /// The operand of `ret n`.
    fn popped(&self) -> u64 {
        if self.0.raw.op_count() == 0 {
            0
        } else {
            u64::from(self.0.raw.immediate16())
        }
    }

    fn target(&self, registers: &Registers, around: &dyn Surroundings) -> Option<u64> {
        let raw = &self.0.raw;
        if self.0.kind == Kind::Ret {
            return around.word(registers[RSP]);
        }
        if raw.op0_kind() == OpKind::Register {
            return Some(registers[raw.op0_register().number()]);
        }
        let address =
            raw.virtual_address(0, 0, |register, _, _| value(register, registers, around));
        around.word(address?)
    }
}

/// What a register of a memory operand adds to its address.
pub fn value(register: Register, registers: &Registers, around: &dyn Surroundings) -> Option<u64> {
    Some(match register {
        Register::FS => around.segment_base(false),
        Register::GS => around.segment_base(true),
        r if r.is_segment_register() => 0,
        r if r.is_gpr32() => registers[r.number()] & 0xffff_ffff,
        r if r.is_gpr64() => registers[r.number()],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;
    impl Surroundings for Nothing {
        fn word(&self, address: u64) -> Option<u64> {
            (address == 0x8000)
                .then_some(0x77)
                .or((address == 0x9000).then_some(0x1002))
        }
        fn segment_base(&self, _gs: bool) -> u64 {
            0
        }
    }

    fn end(bytes: &[u8]) -> IndirectBranch {
        line(AppPc(0x1000), bytes).end.unwrap()
    }

    #[test]
    fn a_line_tells_where_it_goes() {
        // je +2; ret
        let line = line(AppPc(0x1000), &[0x74, 2, 0xc3]);
        assert_eq!(line.targets, [AppPc(0x1004)]);
        assert_eq!(line.end.unwrap().pc(), AppPc(0x1002));
    }

    #[test]
    fn code_that_goes_on_is_followed() {
        assert_eq!(line(AppPc(0x1000), &[0x90]).targets, [AppPc(0x1001)]);
        assert_eq!(
            line(AppPc(0x1000), &[0xeb, 0x10, 0x90]).targets,
            [AppPc(0x1012)]
        );
        assert!(line(AppPc(0x1000), &[0x06]).targets.is_empty());
    }

    #[test]
    fn returns_are_recognised_by_the_word_that_they_popped() {
        let mut after = [0; 16];
        after[RSP] = 0x8008;
        let before = end(&[0xc3]).before(&after, 0x77, &Nothing);
        assert_eq!(before.unwrap()[RSP], 0x8000);
        assert!(end(&[0xc3]).before(&after, 0x78, &Nothing).is_none());
        after[RSP] = 0x8018;
        assert!(
            end(&[0xc2, 0x10, 0])
                .before(&after, 0x77, &Nothing)
                .is_some()
        );
    }

    #[test]
    fn jumps_and_calls_are_recognised_by_operand_and_return_address() {
        let mut after = [0; 16];
        after[0] = 0x8000;
        // jmp rax; jmp [rax]
        assert!(
            end(&[0xff, 0xe0])
                .before(&after, 0x8000, &Nothing)
                .is_some()
        );
        assert!(end(&[0xff, 0x20]).before(&after, 0x77, &Nothing).is_some());
        // call [rax]
        assert!(end(&[0xff, 0x10]).before(&after, 0x77, &Nothing).is_none());
        after[RSP] = 0x9000;
        let before = end(&[0xff, 0x10]).before(&after, 0x77, &Nothing);
        assert_eq!(before.unwrap()[RSP], 0x9008);
    }
}
