//! Which registers inserted code may use without keeping what the app has in them.
//!
//! That the app does not need a value any more is not enough: faults and signals show all
//! registers, exactly. But what an instruction overwrites for certain, nobody can look at
//! right before it: a signal there is delivered behind it.

use alloc::vec::Vec;
use iced_x86::{Code, InstructionInfoFactory, OpKind, Register};
use ppin_decode::touched::Touched;
use ppin_decode::{Gpr, Ins, Kind, RegSet};

/// Registers that `ins` overwrites as a whole without having read them, if it cannot fault.
/// Those that are found without much work: moves between registers, constants, addresses.
pub fn overwritten(ins: &Ins) -> RegSet {
    let raw = &ins.raw;
    let (source, index) = match raw.code() {
        Code::Lea_r64_m | Code::Lea_r32_m => (raw.memory_base(), raw.memory_index()),
        Code::Mov_r64_rm64
        | Code::Mov_r32_rm32
        | Code::Mov_rm64_r64
        | Code::Mov_rm32_r32
        | Code::Movzx_r32_rm8
        | Code::Movzx_r32_rm16
        | Code::Movsxd_r64_rm32
            if raw.op1_kind() == OpKind::Register =>
        {
            (raw.op1_register(), Register::None)
        }
        Code::Mov_r64_imm64 | Code::Mov_r32_imm32 | Code::Mov_rm64_imm32 | Code::Mov_rm32_imm32 => {
            (Register::None, Register::None)
        }
        _ => return RegSet::NONE,
    };
    let here = matches!(ins.kind, Kind::Verbatim | Kind::RipRelative);
    let register = here && raw.op0_kind() == OpKind::Register;
    let Some(target) = Gpr::holding(raw.op0_register()).filter(|_| register) else {
        return RegSet::NONE;
    };
    let read = [source, index].map(Gpr::holding).contains(&Some(target));
    if read || target == Gpr::RSP {
        RegSet::NONE
    } else {
        RegSet::of(&[target])
    }
}

/// Registers that each instruction touches.
#[must_use]
pub fn touched(ins: &[Ins]) -> Vec<Touched> {
    let mut factory = InstructionInfoFactory::new();
    ins.iter()
        .map(|ins| Touched::of(ins, &mut factory))
        .collect()
}

/// Two registers besides `named`: those that are read last from instruction `at` on. Where memory
/// behind `gs` is not renamed, a register comes back late.
pub fn farthest(touched: &[Touched], at: usize, named: RegSet) -> RegSet {
    // Of two that are equally far, the one that compiled code uses less.
    const ORDER: [u8; 15] = [11, 10, 9, 8, 6, 7, 2, 1, 0, 15, 14, 13, 12, 5, 3];
    let distance = |register: Gpr| {
        let mut later = touched[at..].iter();
        later.position(|touched| touched.needed.contains(register))
    };
    let mut best: [Option<(usize, Gpr)>; 2] = [None; 2];
    for register in ORDER.map(Gpr::new) {
        if named.contains(register) {
            continue;
        }
        let mut candidate = Some((distance(register).unwrap_or(usize::MAX), register));
        for place in &mut best {
            let farther = match (*place, candidate) {
                (Some((there, _)), Some((here, _))) => here > there,
                (None, _) => true,
                (_, None) => false,
            };
            if farther {
                core::mem::swap(place, &mut candidate);
            }
        }
    }
    let chosen = best.into_iter().flatten();
    chosen.fold(RegSet::NONE, |set, (_, register)| set.with(register))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{InstructionInfoFactory, OpAccess};
    use ppin_abi::addr::AppPc;
    use ppin_decode::InsReader;
    use proptest::prelude::*;

    fn of(bytes: &[u8]) -> RegSet {
        overwritten(&InsReader::new(AppPc(0x1000), bytes).read().unwrap())
    }

    #[test]
    fn moves_constants_and_addresses() {
        assert_eq!(of(&[0x48, 0x89, 0xc3]), RegSet::of(&[Gpr::RBX])); // mov rbx, rax
        assert_eq!(of(&[0x89, 0xc3]), RegSet::of(&[Gpr::RBX])); // mov ebx, eax
        assert_eq!(of(&[0xb8, 1, 0, 0, 0]), RegSet::of(&[Gpr::RAX])); // mov eax, 1
        assert_eq!(of(&[0x48, 0x8d, 0x0d, 0, 0, 0, 0]), RegSet::of(&[Gpr::RCX])); // lea rcx, [rip]
        assert_eq!(of(&[0x0f, 0xb6, 0xca]), RegSet::of(&[Gpr::RCX])); // movzx ecx, dl
    }

    #[test]
    fn what_is_read_or_may_fault_is_left_alone() {
        assert_eq!(of(&[0x48, 0x89, 0xc0]), RegSet::NONE); // mov rax, rax
        assert_eq!(of(&[0x48, 0x8d, 0x44, 0x08, 1]), RegSet::NONE); // lea rax, [rax+rcx+1]
        assert_eq!(of(&[0x0f, 0xb6, 0xc4]), RegSet::NONE); // movzx eax, ah
        assert_eq!(of(&[0x48, 0x8b, 0x03]), RegSet::NONE); // mov rax, [rbx]
        assert_eq!(of(&[0x48, 0xc7, 0x03, 1, 0, 0, 0]), RegSet::NONE); // mov qword [rbx], 1
        assert_eq!(of(&[0x66, 0x89, 0xc3]), RegSet::NONE); // mov bx, ax
        assert_eq!(of(&[0x48, 0x89, 0xc4]), RegSet::NONE); // mov rsp, rax
        assert_eq!(of(&[0x48, 0x0f, 0x44, 0xc1]), RegSet::NONE); // cmove rax, rcx
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 20_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// The decoder's tables agree.
        #[test]
        fn what_is_overwritten_is_not_read(
            opcode in prop_oneof![
                Just(vec![0x8d]), Just(vec![0x89]), Just(vec![0x8b]), Just(vec![0xc7]),
                Just(vec![0xb9]), Just(vec![0x0f, 0xb6]), Just(vec![0x0f, 0xb7]),
                Just(vec![0x63]), proptest::collection::vec(any::<u8>(), 1..3),
            ],
            prefix in proptest::option::of(prop_oneof![0x40..0x50u8, Just(0x66), Just(0x67)]),
            rest in any::<[u8; 12]>(),
        ) {
            let bytes = [prefix.as_slice(), &opcode, &rest].concat();
            let Ok(ins) = InsReader::new(AppPc(0x1000), &bytes).read() else {
                return Ok(());
            };
            let found = overwritten(&ins);
            let mut factory = InstructionInfoFactory::new();
            let info = factory.info(&ins.raw);
            for used in info.used_registers() {
                let Some(register) = Gpr::holding(used.register()) else { continue };
                if found.contains(register) {
                    prop_assert_eq!(used.access(), OpAccess::Write, "{}", ins.raw.code() as u32);
                    prop_assert!(used.register().size() >= 4);
                }
            }
            if found != RegSet::NONE {
                prop_assert!(info.used_memory().iter().all(|m| m.access() == OpAccess::NoMemAccess));
                prop_assert!(ins.kind.is_plain());
            }
        }
    }
}
