//! Memory operands, from what the decoder knows of them.

use iced_x86::{CodeSize, Instruction, OpAccess, Register, UsedMemory};
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_api::{Access, Address, MemoryOperand, Reg, Segment};

/// `None` for operands whose memory is not touched.
pub(super) fn operand(
    used: &UsedMemory,
    ins: &Instruction,
    image: ImageBase,
) -> Option<MemoryOperand> {
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

/// How the address is computed, if the bridge can compute it.
pub(crate) fn address(used: &UsedMemory, ins: &Instruction, image: ImageBase) -> Option<Address> {
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
