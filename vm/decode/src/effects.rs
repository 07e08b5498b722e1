//! What an instruction reads and writes, beyond its operands: conservative, so
//! that what is uncertain counts as read and as not written.

use iced_x86::{
    Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, OpKind,
    RflagsBits,
};
use ppin_abi::optimize::Optimize;

/// OF, SF, ZF, AF, CF and PF.
pub const ARITHMETIC: u32 = RflagsBits::OF
    | RflagsBits::SF
    | RflagsBits::ZF
    | RflagsBits::AF
    | RflagsBits::CF
    | RflagsBits::PF;

/// Arithmetic flags whose old values the instruction may use.
pub fn flags_read(raw: &Instruction) -> u32 {
    (raw.rflags_read() | carried(raw)) & ARITHMETIC
}

/// By a count that brings the operand back to what it was, a rotation by way of the carry flag reads nothing,
/// according to the decoder's tables. But processors make OF, which is undefined then, of that flag.
fn carried(raw: &Instruction) -> u32 {
    match raw.mnemonic() {
        Mnemonic::Rcl | Mnemonic::Rcr => RflagsBits::CF,
        _ => RflagsBits::NONE,
    }
}

/// Arithmetic flags whose old values are certainly gone behind the instruction.
/// Undefined flags are not: the CPU does something with them that apps may rely on. With
/// [`Optimize::FLAGS`] it is known to write AF in logic instructions.
pub fn flags_killed(raw: &Instruction, optimize: Optimize) -> u32 {
    if may_do_nothing(raw) {
        return 0;
    }
    let written = raw.rflags_written() | raw.rflags_cleared() | raw.rflags_set();
    let known = if optimize.has(Optimize::FLAGS) && is_logic(raw) {
        RflagsBits::AF
    } else {
        RflagsBits::NONE
    };
    (written & !raw.rflags_undefined() | known) & ARITHMETIC
}

fn is_logic(raw: &Instruction) -> bool {
    use Mnemonic::{And, Or, Test, Xor};
    matches!(raw.mnemonic(), And | Or | Test | Xor)
}

/// With a count of 0, which may come from a register, these leave the flags alone.
fn may_do_nothing(raw: &Instruction) -> bool {
    use Mnemonic::{Rcl, Rcr, Rol, Ror, Sal, Sar, Shl, Shld, Shr, Shrd};
    let repeated = raw.has_rep_prefix() || raw.has_repne_prefix();
    let shift = matches!(
        raw.mnemonic(),
        Rcl | Rcr | Rol | Ror | Sal | Sar | Shl | Shld | Shr | Shrd
    );
    shift || repeated && raw.is_string_instruction()
}

/// Whether it may write memory. (Who asks of many instructions makes one `factory`: that takes memory.)
pub fn writes_memory(raw: &Instruction, factory: &mut InstructionInfoFactory) -> bool {
    !has_no_memory(raw) && may_write(raw, factory)
}

/// Whether it works on registers and constants alone, as most do: more is not to be known, which takes long.
fn has_no_memory(raw: &Instruction) -> bool {
    let is_plain = |kind: OpKind| kind == OpKind::Register || is_constant(kind);
    raw.op_count() > 0 && !raw.is_stack_instruction() && raw.op_kinds().all(is_plain)
}

const fn is_constant(kind: OpKind) -> bool {
    use OpKind::{
        Immediate8, Immediate8_2nd, Immediate8to16, Immediate8to32, Immediate8to64, Immediate16,
        Immediate32, Immediate32to64, Immediate64, NearBranch16, NearBranch32, NearBranch64,
    };
    matches!(
        kind,
        Immediate8
            | Immediate8_2nd
            | Immediate8to16
            | Immediate8to32
            | Immediate8to64
            | Immediate16
            | Immediate32
            | Immediate32to64
            | Immediate64
            | NearBranch16
            | NearBranch32
            | NearBranch64
    )
}

fn may_write(raw: &Instruction, factory: &mut InstructionInfoFactory) -> bool {
    // (The decoder does not say so of this one.)
    if raw.mnemonic() == Mnemonic::Clzero {
        return true;
    }
    let info = factory.info_options(raw, InstructionInfoOptions::NO_REGISTER_USAGE);
    info.used_memory().iter().any(|used| writes(used.access()))
}

/// Whether what is accessed so may be written.
pub(crate) const fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Whether a register says which bit of a string in memory is meant, so that it may lie elsewhere than the operand says
/// (SDM volume 2, `BT`).
pub fn is_bit_string(raw: &Instruction) -> bool {
    use Mnemonic::{Bt, Btc, Btr, Bts};
    let of_bits = matches!(raw.mnemonic(), Bt | Btc | Btr | Bts);
    of_bits && raw.op0_kind() == OpKind::Memory && raw.op1_kind() == OpKind::Register
}

/// Whether instructions behind it are fetched after all before it is done (those that a
/// program may use).
pub fn serializes(raw: &Instruction) -> bool {
    matches!(raw.mnemonic(), Mnemonic::Cpuid | Mnemonic::Serialize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};
    use proptest::prelude::*;

    fn decoded(bytes: &[u8]) -> Instruction {
        Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE).decode()
    }

    #[test]
    fn a_rotation_by_way_of_the_carry_flag_reads_it_whatever_its_count() {
        let read = |bytes: &[u8]| flags_read(&decoded(bytes));
        // rcl bl, 1; rcl bl, 18; rcr rax, 0
        let rotations: [&[u8]; 3] = [&[0xd0, 0xd3], &[0xc0, 0xd3, 18], &[0x48, 0xc1, 0xd8, 0]];
        for bytes in rotations {
            assert_eq!(read(bytes), RflagsBits::CF);
        }
        assert_eq!(read(&[0xd0, 0xc3]), RflagsBits::NONE, "rol bl, 1");
    }

    #[test]
    fn bits_that_a_register_numbers_may_lie_elsewhere() {
        let is = |bytes: &[u8]| is_bit_string(&decoded(bytes));
        // bts [rbx], eax; bt [rax], rcx
        assert!(is(&[0x0f, 0xab, 0x03]) && is(&[0x48, 0x0f, 0xa3, 0x08]));
        // bts ebx, eax; bts dword [rbx], 3
        assert!(!is(&[0x0f, 0xab, 0xc3]) && !is(&[0x0f, 0xba, 0x2b, 3]));
    }

    #[test]
    fn stores_are_known_by_their_operands_and_by_what_they_do() {
        let writes =
            |bytes: &[u8]| writes_memory(&decoded(bytes), &mut InstructionInfoFactory::new());
        // mov [rax], ecx; push rax; call rax; stosb; add [rax], eax; clzero
        let stores: [&[u8]; 6] = [
            &[0x89, 0x08],
            &[0x50],
            &[0xff, 0xd0],
            &[0xaa],
            &[0x01, 0x00],
            &[0x0f, 0x01, 0xfc],
        ];
        assert!(stores.into_iter().all(writes));
    }
    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn what_has_no_memory_writes_none(bytes in any::<[u8; 15]>()) {
            let raw = decoded(&bytes);
            let factory = &mut InstructionInfoFactory::new();
            prop_assert!(!has_no_memory(&raw) || !may_write(&raw, factory), "{raw}");
        }
    }
}
