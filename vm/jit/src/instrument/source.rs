//! Decoded instructions, as a tool sees them.

use alloc::vec::Vec;
use core::cell::RefCell;
use iced_x86::{InstructionInfoFactory, Mnemonic};
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_api::compiler::Source;
use ppin_api::{Category, MemoryOperand, OPCODES, Opcode, Predicate};
use ppin_decode::{Ins, Kind};
use ppin_lower::operand::{operand, unnamed};

/// The instructions of a trace.
pub(super) struct Decoded<'a> {
    ins: &'a [Ins],
    image: ImageBase,
    /// Made when a tool first asks for memory operands.
    factory: RefCell<Option<InstructionInfoFactory>>,
}

impl<'a> Decoded<'a> {
    pub(super) const fn new(ins: &'a [Ins], image: ImageBase) -> Self {
        Self {
            ins,
            image,
            factory: RefCell::new(None),
        }
    }
}

impl Source for Decoded<'_> {
    fn count(&self) -> usize {
        self.ins.len()
    }

    fn pc(&self, index: usize) -> AppPc {
        self.ins[index].pc()
    }

    fn len(&self, index: usize) -> u32 {
        self.ins[index].len()
    }

    fn opcode(&self, index: usize) -> Opcode {
        opcode(self.ins[index].raw.mnemonic())
    }

    fn category(&self, index: usize) -> Category {
        category(self.ins[index].kind)
    }

    fn falls_through(&self, index: usize) -> bool {
        self.ins[index].kind.falls_through()
    }

    fn is_repeated(&self, index: usize) -> bool {
        let raw = &self.ins[index].raw;
        raw.is_string_instruction() && (raw.has_rep_prefix() || raw.has_repne_prefix())
    }

    fn predicate(&self, index: usize) -> Predicate {
        match self.ins[index].predicate() {
            None => Predicate::None,
            Some(ppin_decode::Predicate::Mask) => Predicate::Masked,
            Some(_) => Predicate::Told,
        }
    }

    fn target(&self, index: usize) -> Option<AppPc> {
        let ins = &self.ins[index];
        ins.kind.is_direct_branch().then(|| ins.target())
    }

    fn memory_operands(&self, index: usize) -> Vec<MemoryOperand> {
        let raw = &self.ins[index].raw;
        let mut factory = self.factory.borrow_mut();
        let info = factory
            .get_or_insert_with(InstructionInfoFactory::new)
            .info(raw);
        info.used_memory()
            .iter()
            .filter_map(|used| operand(used, raw, self.image))
            .chain(unnamed(raw))
            .collect()
    }
}

/// Opcodes are numbered as the decoder's mnemonics are; the test below compares their names.
fn opcode(mnemonic: Mnemonic) -> Opcode {
    const { assert!(Mnemonic::Vsm4rnds4 as u32 + 1 == OPCODES) }
    Opcode::from_index(mnemonic as u32).expect("a number below the last one")
}

fn category(kind: Kind) -> Category {
    match kind {
        Kind::Verbatim
        | Kind::RipRelative
        | Kind::Cpuid
        | Kind::PopFlags
        | Kind::GsMemory
        | Kind::GsBase => Category::Plain,
        Kind::Jump => Category::Jump,
        Kind::CondJump | Kind::ShortJump | Kind::TransactionBegin => Category::ConditionalBranch,
        Kind::Call => Category::Call,
        Kind::IndirectJump => Category::IndirectJump,
        Kind::IndirectCall => Category::IndirectCall,
        Kind::Ret => Category::Return,
        Kind::Syscall => Category::Syscall,
        Kind::Faulting | Kind::Trap(_) => Category::Exception,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_have_the_names_of_mnemonics() {
        assert_eq!(Mnemonic::values().count(), OPCODES as usize);
        for mnemonic in Mnemonic::values() {
            let name = format!("{mnemonic:?}").to_lowercase();
            assert_eq!(opcode(mnemonic).name(), name);
        }
    }

    #[test]
    fn a_block_ends_for_tools_where_it_does_for_the_compiler() {
        use ppin_abi::record::Trap;
        let kinds = [
            Kind::Verbatim,
            Kind::RipRelative,
            Kind::Cpuid,
            Kind::PopFlags,
            Kind::GsMemory,
            Kind::GsBase,
            Kind::Faulting,
            Kind::Jump,
            Kind::CondJump,
            Kind::ShortJump,
            Kind::TransactionBegin,
            Kind::Call,
            Kind::IndirectJump,
            Kind::IndirectCall,
            Kind::Ret,
            Kind::Syscall,
            Kind::Trap(Trap::Int80),
        ];
        for kind in kinds {
            let plain = category(kind) == Category::Plain;
            assert_eq!(plain, !kind.ends_block(), "{kind:?}");
        }
    }
}
