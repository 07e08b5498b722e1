//! Memory operands, from what the decoder knows of them.

use iced_x86::{CodeSize, Instruction, Mnemonic, OpAccess, Register, UsedMemory};
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_api::{Access, Address, MemoryOperand, Reg, Segment};
use ppin_decode::effects;

/// `None` for operands whose memory is not touched.
pub fn operand(used: &UsedMemory, ins: &Instruction, image: ImageBase) -> Option<MemoryOperand> {
    // A repeated operand has no size of its own; its first element does.
    let size = match used.memory_size().size() {
        0 if ins.is_string_instruction() => ins.memory_size().size(),
        size => size,
    };
    Some(MemoryOperand {
        access: access(used.access())?,
        size: u32::try_from(size).unwrap_or(0),
        conditional: matches!(
            used.access(),
            OpAccess::CondRead | OpAccess::CondWrite | OpAccess::ReadCondWrite
        ),
        address: address(used, ins, image),
    })
}

/// `None` for what touches no memory (address computation, prefetch hints).
fn access(access: OpAccess) -> Option<Access> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(Access::Read),
        OpAccess::Write | OpAccess::CondWrite => Some(Access::Write),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(Access::ReadWrite),
        _ => None,
    }
}

/// The store of an instruction that names no operand for it, if `ins` is one.
pub fn unnamed(ins: &Instruction) -> Option<MemoryOperand> {
    const LINE: u32 = 64;
    (ins.mnemonic() == Mnemonic::Clzero).then_some(MemoryOperand {
        access: Access::Write,
        size: LINE,
        conditional: false,
        address: None,
    })
}

/// How the address is computed, if the bridge can compute it.
pub(crate) fn address(used: &UsedMemory, ins: &Instruction, image: ImageBase) -> Option<Address> {
    if effects::is_bit_string(ins) {
        return None;
    }
    if is_ip_relative(used, ins) {
        let plain = !matches!(used.segment(), Register::FS | Register::GS);
        let off = || AppPc(used.displacement()).offset_from(image);
        return plain.then(off).flatten().map(Address::Image);
    }
    let segment = match used.segment() {
        Register::FS => Some(Segment::Fs),
        Register::GS => Some(Segment::Gs),
        _ => None,
    };
    let narrow = match used.address_size() {
        CodeSize::Code32 => true,
        CodeSize::Code64 => false,
        _ => narrow_by_registers(used)?,
    };
    Some(Address::Sum {
        segment,
        base: register(used.base())?,
        index: register(used.index())?,
        scale: used.scale().trailing_zeros() as u8,
        displacement: used.displacement(),
        narrow,
    })
}

/// Whether it is the instruction's rip-relative operand, which is given as the address
/// that it comes to: one that is another at the next run.
fn is_ip_relative(used: &UsedMemory, ins: &Instruction) -> bool {
    ins.is_ip_rel_memory_operand()
        && used.base() == Register::None
        && used.index() == Register::None
        && used.displacement() == ins.ip_rel_memory_address()
}

/// The size of an implicit operand's address is not always given: its registers tell.
fn narrow_by_registers(used: &UsedMemory) -> Option<bool> {
    let register = match used.base() {
        Register::None => used.index(),
        base => base,
    };
    match register {
        Register::None => Some(false),
        register if register.is_gpr64() => Some(false),
        register if register.is_gpr32() => Some(true),
        _ => None,
    }
}

/// `Some(None)` for none; `None` for what is no address register.
fn register(register: Register) -> Option<Option<Reg>> {
    match register {
        Register::None => Some(None),
        register if register.is_gpr64() || register.is_gpr32() => {
            Reg::ALL.get(register.number()).copied().map(Some)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};

    /// Memory operands as tools see them: what is accessed, how many bytes, and whether there is an address.
    fn of(bytes: &[u8]) -> Vec<(Access, u32, bool)> {
        let ins = Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE).decode();
        let mut factory = InstructionInfoFactory::new();
        let used = factory.info(&ins).used_memory().iter();
        let named = used.filter_map(|used| operand(used, &ins, ImageBase(0)));
        let all = named.chain(unnamed(&ins));
        all.map(|one| (one.access, one.size, one.has_address()))
            .collect()
    }

    #[test]
    fn where_a_bit_of_a_string_lies_is_told_only_if_the_operand_says_so() {
        let changes = |address| [(Access::ReadWrite, 4, address)];
        assert_eq!(of(&[0x0f, 0xab, 0x03]), changes(false)); // bts [rbx], eax
        assert_eq!(of(&[0x0f, 0xba, 0x2b, 3]), changes(true)); // bts dword [rbx], 3
        assert_eq!(of(&[0x0f, 0xa3, 0x03]), [(Access::Read, 4, false)]); // bt [rbx], eax
    }

    #[test]
    fn a_store_that_no_operand_names_is_told() {
        assert_eq!(of(&[0x0f, 0x01, 0xfc]), [(Access::Write, 64, false)]); // clzero
    }
}
