//! What an instruction reads and writes, beyond its operands: conservative, so
//! that what is uncertain counts as read and as not written.

use iced_x86::{
    Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpAccess, RflagsBits,
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
    raw.rflags_read() & ARITHMETIC
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

/// Whether it may write memory.
pub fn writes_memory(raw: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info_options(raw, InstructionInfoOptions::NO_REGISTER_USAGE);
    info.used_memory().iter().any(|used| {
        matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    })
}

/// Whether instructions behind it are fetched after all before it is done (those that a
/// program may use).
pub fn serializes(raw: &Instruction) -> bool {
    matches!(raw.mnemonic(), Mnemonic::Cpuid | Mnemonic::Serialize)
}
