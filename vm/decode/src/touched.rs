//! Which general registers an instruction touches.

use crate::{Gpr, Ins, RegSet, effects};
use iced_x86::{InstructionInfoFactory, Mnemonic, OpAccess, OpKind};

/// Registers that an instruction touches.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Touched {
    /// Their values are looked at, or a part of them stays.
    pub needed: RegSet,
    /// They get values of which nothing is theirs, unless the instruction faults.
    pub overwritten: RegSet,
    /// They may have other values behind it.
    pub changed: RegSet,
}

impl Touched {
    /// Those of `ins`.
    #[must_use]
    pub fn of(ins: &Ins, factory: &mut InstructionInfoFactory) -> Self {
        let sure = overwrites(ins);
        let mut touched = Self::default();
        for used in factory.info(&ins.raw).used_registers() {
            let Some(register) = Gpr::holding(used.register()) else {
                continue;
            };
            if effects::writes(used.access()) {
                touched.changed = touched.changed.with(register);
            }
            match used.access() {
                OpAccess::None | OpAccess::NoMemAccess => {}
                OpAccess::Write if sure && matches!(used.register().size(), 4 | 8) => {
                    touched.overwritten = touched.overwritten.with(register);
                }
                _ => touched.needed = touched.needed.with(register),
            }
        }
        if exchanges(ins) {
            let both = RegSet::of(&[Gpr::RAX, Gpr::R8]);
            (touched.needed, touched.changed) = (touched.needed.or(both), touched.changed.or(both));
        }
        touched.overwritten = touched.overwritten.minus(touched.needed);
        touched
    }
}

/// Whether the processor may take `ins` for `xchg r8, rax`: the decoder sees `pause` in F3 REX.B 90, too.
fn exchanges(ins: &Ins) -> bool {
    const PAUSE: usize = 2;
    ins.raw.mnemonic() == Mnemonic::Pause && ins.raw.len() > PAUSE
}

/// Whether what `ins` writes to is sure to be written: it only moves a value, and does not leave that to a
/// condition.
fn overwrites(ins: &Ins) -> bool {
    let raw = &ins.raw;
    match raw.mnemonic() {
        Mnemonic::Mov
        | Mnemonic::Movzx
        | Mnemonic::Movsx
        | Mnemonic::Movsxd
        | Mnemonic::Lea
        | Mnemonic::Pop => raw.op0_kind() == OpKind::Register,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InsReader;
    use ppin_abi::addr::AppPc;

    fn of(bytes: &[u8]) -> (RegSet, RegSet) {
        let ins = InsReader::new(AppPc(0x1000), bytes).read().unwrap();
        let touched = Touched::of(&ins, &mut InstructionInfoFactory::new());
        (touched.needed, touched.overwritten)
    }

    const RAX: RegSet = RegSet::of(&[Gpr::RAX]);
    const RCX: RegSet = RegSet::of(&[Gpr::RCX]);

    #[test]
    fn moves_overwrite() {
        assert_eq!(of(&[0x89, 0xc8]), (RCX, RAX)); // mov eax, ecx
        assert_eq!(of(&[0x48, 0x8b, 0x01]), (RCX, RAX)); // mov rax, [rcx]
        assert_eq!(of(&[0x0f, 0xb6, 0xc1]), (RCX, RAX)); // movzx eax, cl
        let (needed, overwritten) = of(&[0x58]); // pop rax
        assert!(needed.contains(Gpr::RSP) && overwritten == RAX);
    }

    #[test]
    fn what_stays_in_part_or_perhaps_is_needed() {
        assert_eq!(of(&[0x66, 0x89, 0xc8]).1, RegSet::NONE); // mov ax, cx
        assert_eq!(of(&[0x88, 0xc8]).0, RAX.or(RCX)); // mov al, cl
        assert_eq!(of(&[0x48, 0x8b, 0x00]), (RAX, RegSet::NONE)); // mov rax, [rax]
        assert_eq!(of(&[0x0f, 0x44, 0xc1]).0, RAX.or(RCX)); // cmove eax, ecx
        assert_eq!(of(&[0x0f, 0xbc, 0xc1]).0, RAX.or(RCX)); // bsf eax, ecx
        assert_eq!(of(&[0x89, 0x01]), (RAX.or(RCX), RegSet::NONE)); // mov [rcx], eax
    }

    #[test]
    fn a_pause_with_a_prefix_may_be_an_exchange() {
        assert_eq!(of(&[0xf3, 0x90]).0, RegSet::NONE);
        assert_eq!(of(&[0xf3, 0x41, 0x90]).0, RegSet::of(&[Gpr::RAX, Gpr::R8]));
    }

    #[test]
    fn what_is_only_read_does_not_change() {
        let changed = |bytes: &[u8]| {
            let ins = InsReader::new(AppPc(0x1000), bytes).read().unwrap();
            Touched::of(&ins, &mut InstructionInfoFactory::new()).changed
        };
        assert_eq!(changed(&[0x89, 0x01]), RegSet::NONE); // mov [rcx], eax
        assert_eq!(changed(&[0x88, 0xc8]), RAX); // mov al, cl
        assert_eq!(changed(&[0x0f, 0x44, 0xc1]), RAX); // cmove eax, ecx
        assert_eq!(changed(&[0x87, 0xc8]), RAX.or(RCX)); // xchg eax, ecx
        assert_eq!(changed(&[0x50]), RegSet::of(&[Gpr::RSP])); // push rax
        assert_eq!(
            changed(&[0xf3, 0x41, 0x90]),
            RegSet::of(&[Gpr::RAX, Gpr::R8])
        );
    }

    #[test]
    fn registers_that_are_not_named_count() {
        let (needed, _) = of(&[0xf3, 0xa4]); // rep movsb
        for register in [Gpr::RCX, Gpr::RSI, Gpr::RDI] {
            assert!(needed.contains(register));
        }
        assert!(of(&[0xf7, 0xe1]).0.contains(Gpr::RDX)); // mul ecx
    }
}
