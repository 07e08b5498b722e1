//! What becomes of the value of a register.
//!
//! Only instructions are looked at that touch no register but those that their operands name: the compiler asks
//! this of most traces, and to look at any instruction thoroughly takes ten times as long.

use iced_x86::{Mnemonic, OpKind, Register};
use ppin_decode::{Gpr, Ins, Kind, RegSet};

/// What becomes of a register's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nobody looks at it before this instruction overwrites it.
    Overwritten(usize),
    /// Nobody looks at it before an indirect jump, nor does that.
    Leaves,
    /// Nobody looks at it before a return, which is this instruction.
    Returns(usize),
}

/// What becomes of the value that `register` has before `ins`, if instructions that stay as they are do not look
/// at it before that is known, nor write to a part of it.
#[must_use]
pub fn next(ins: &[Ins], register: Gpr) -> Option<Next> {
    // (Mostly a branch comes first, and that is soon known.)
    let ends = |ins: &Ins| !stays(ins.kind) || writes(ins, register);
    let number = ins.iter().position(ends)?;
    let (before, last) = (&ins[..number], &ins[number]);
    let what = match last.kind {
        Kind::IndirectJump if !names(last, register) => Next::Leaves,
        Kind::Ret => Next::Returns(number),
        kind if stays(kind) && overwrites(last, register) => Next::Overwritten(number),
        _ => return None,
    };
    let passes = |ins: &Ins| names_all(ins) && !names(ins, register);
    before.iter().all(passes).then_some(what)
}

/// Whether an instruction of that kind stays as it is.
fn stays(kind: Kind) -> bool {
    matches!(kind, Kind::Verbatim | Kind::RipRelative)
}

/// Whether the first operand of `ins` is `register` or its lower half.
fn writes(ins: &Ins, register: Gpr) -> bool {
    let operand = ins.raw.op0_register();
    let half = Register::EAX + u32::from(register.number());
    operand == register.named() || operand == half
}

/// Whether `ins`, which [`writes`] to it, overwrites `register` as a whole, unless it faults, and does not look at
/// it.
fn overwrites(ins: &Ins, register: Gpr) -> bool {
    let raw = &ins.raw;
    let other = raw.op1_register();
    match raw.mnemonic() {
        Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => {
            !is(other, register) && !addresses(ins).contains(register)
        }
        Mnemonic::Lea => !addresses(ins).contains(register),
        Mnemonic::Pop => register != Gpr::RSP,
        Mnemonic::Xor | Mnemonic::Sub => other == raw.op0_register(),
        _ => false,
    }
}

/// Whether an operand of `ins` names `register` or a part of it.
fn names(ins: &Ins, register: Gpr) -> bool {
    let raw = &ins.raw;
    let mut operands = 0..raw.op_count();
    let named =
        operands.any(|n| raw.op_kind(n) == OpKind::Register && is(raw.op_register(n), register));
    named || addresses(ins).contains(register)
}

fn is(register: Register, of: Gpr) -> bool {
    Gpr::holding(register) == Some(of)
}

/// Registers that make up the address of its operand in memory.
fn addresses(ins: &Ins) -> RegSet {
    let raw = &ins.raw;
    let named = [raw.memory_base(), raw.memory_index()];
    named.into_iter().filter_map(Gpr::holding).collect()
}

/// Whether `ins` touches no register but those that its operands name, and the stack pointer.
fn names_all(ins: &Ins) -> bool {
    matches!(
        ins.raw.mnemonic(),
        Mnemonic::Mov
            | Mnemonic::Movzx
            | Mnemonic::Movsx
            | Mnemonic::Movsxd
            | Mnemonic::Lea
            | Mnemonic::Push
            | Mnemonic::Pop
            | Mnemonic::Add
            | Mnemonic::Sub
            | Mnemonic::And
            | Mnemonic::Or
            | Mnemonic::Xor
            | Mnemonic::Cmp
            | Mnemonic::Test
            | Mnemonic::Inc
            | Mnemonic::Dec
            | Mnemonic::Shl
            | Mnemonic::Shr
            | Mnemonic::Sar
            | Mnemonic::Nop
            | Mnemonic::Endbr64
            | Mnemonic::Movaps
            | Mnemonic::Movups
            | Mnemonic::Movdqa
            | Mnemonic::Movdqu
            | Mnemonic::Movq
            | Mnemonic::Movd
            | Mnemonic::Pxor
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{InstructionInfoFactory, OpAccess};
    use ppin_abi::addr::AppPc;
    use ppin_decode::InsReader;
    use ppin_decode::touched::Touched;
    use proptest::prelude::*;

    fn trace(bytes: &[u8]) -> Vec<Ins> {
        let mut reader = InsReader::new(AppPc(0x1000), bytes);
        core::iter::from_fn(|| reader.read().ok()).collect()
    }

    #[test]
    fn what_is_overwritten_next_is_found() {
        // push rbx; mov ebx, edi; mov eax, [rdi]
        let ins = trace(&[0x53, 0x89, 0xfb, 0x8b, 0x07]);
        assert_eq!(next(&ins, Gpr::RAX), Some(Next::Overwritten(2)));
        assert_eq!(next(&ins, Gpr::RBX), None, "it is pushed");
        assert_eq!(next(&ins, Gpr::RDI), None, "it is moved");
        assert_eq!(next(&ins, Gpr::RCX), None, "the trace ends");
        // test al, al; mov eax, 1: mov al, 1; mov eax, 1
        for first in [[0x84, 0xc0], [0xb0, 0x01]] {
            let ins = trace(&[first.as_slice(), &[0xb8, 1, 0, 0, 0]].concat());
            assert_eq!(next(&ins, Gpr::RAX), None);
        }
    }

    #[test]
    fn branches_end_the_search() {
        // add rsp, 8; ret
        let ins = trace(&[0x48, 0x83, 0xc4, 0x08, 0xc3]);
        assert_eq!(next(&ins, Gpr::RCX), Some(Next::Returns(1)));
        assert_eq!(next(&ins, Gpr::RSP), None, "it is changed");
        // jmp rax
        let ins = trace(&[0xff, 0xe0]);
        assert_eq!(next(&ins, Gpr::RAX), None, "it is where that goes");
        assert_eq!(next(&ins, Gpr::RCX), Some(Next::Leaves));
        // jz +0; mov eax, 1
        let ins = trace(&[0x74, 0x00, 0xb8, 1, 0, 0, 0]);
        assert_eq!(next(&ins, Gpr::RAX), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 20_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// The decoder's tables agree.
        #[test]
        fn what_is_found_is_so(
            prefix in proptest::option::of(prop_oneof![0x40..0x50u8, Just(0x66), Just(0x67), Just(0xf3)]),
            opcode in proptest::collection::vec(any::<u8>(), 1..3),
            rest in any::<[u8; 12]>(),
        ) {
            let bytes = [prefix.as_slice(), &opcode, &rest].concat();
            let Ok(ins) = InsReader::new(AppPc(0x1000), &bytes).read() else {
                return Ok(());
            };
            let mut factory = InstructionInfoFactory::new();
            let touched = Touched::of(&ins, &mut factory);
            let used = factory.info(&ins.raw).used_registers();
            for register in (0..16).map(Gpr::new) {
                if writes(&ins, register) && overwrites(&ins, register) {
                    let mut used = used.iter().filter(|used| is(used.register(), register));
                    prop_assert!(used.all(|used| used.access() == OpAccess::Write));
                }
                let touches = touched.needed.or(touched.changed).contains(register);
                if touches && names_all(&ins) && register != Gpr::RSP {
                    prop_assert!(names(&ins, register));
                }
            }
        }
    }
}
