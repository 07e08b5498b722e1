//! What an instruction reads and writes, beyond its operands.

use iced_x86::{Instruction, InstructionInfoFactory, InstructionInfoOptions, OpAccess};

/// Whether it may write memory.
pub(crate) fn writes_memory(raw: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info_options(raw, InstructionInfoOptions::NO_REGISTER_USAGE);
    info.used_memory().iter().any(|used| {
        matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    })
}
