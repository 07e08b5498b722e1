//! Registers and memory operands, as tools see them.

use iced_x86::{CodeSize, Instruction, OpAccess, Register, UsedMemory};
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_abi::record::{ArgKind, CallArg, NO_REG};

/// A general purpose register, numbered as the hardware does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Reg {
    Rax,
    Rcx,
    Rdx,
    Rbx,
    Rsp,
    Rbp,
    Rsi,
    Rdi,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
}

/// What an instruction does with a memory operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads, then writes it.
    ReadWrite,
}

impl Access {
    /// Whether the operand is read.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether the operand is written.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }

    /// `None` for what touches no memory (address computation, prefetch hints).
    fn of(access: OpAccess) -> Option<Self> {
        match access {
            OpAccess::Read | OpAccess::CondRead => Some(Self::Read),
            OpAccess::Write | OpAccess::CondWrite => Some(Self::Write),
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(Self::ReadWrite),
            _ => None,
        }
    }
}

/// A place in memory that an instruction reads or writes, stack and string
/// operands included. Of a REP-prefixed instruction: the first element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryOperand {
    /// What is done with it.
    pub access: Access,
    /// Bytes, 0 if that is known only at run time (`xsave` and the like).
    pub size: u32,
    /// Whether it happens only under a condition (mask, REP count, `cmov`).
    pub conditional: bool,
    /// How to compute the address, `None` if that cannot be had.
    pub(crate) address: Option<CallArg>,
}

impl MemoryOperand {
    /// `None` for operands whose memory is not touched.
    pub(crate) fn of(used: &UsedMemory, ins: &Instruction, image: ImageBase) -> Option<Self> {
        let access = used.access();
        // A repeated operand has no size of its own; its first element does.
        let size = match used.memory_size().size() {
            0 if ins.is_string_instruction() => ins.memory_size().size(),
            size => size,
        };
        Some(Self {
            access: Access::of(access)?,
            size: u32::try_from(size).unwrap_or(0),
            conditional: matches!(
                access,
                OpAccess::CondRead | OpAccess::CondWrite | OpAccess::ReadCondWrite
            ),
            address: address_arg(used, ins, image),
        })
    }

    /// Whether [`super::Arg::MemoryEa`] can be had for it.
    #[must_use]
    pub const fn has_address(&self) -> bool {
        self.address.is_some()
    }
}

/// The address as an argument of a call record.
pub(crate) fn address_arg(
    used: &UsedMemory,
    ins: &Instruction,
    image: ImageBase,
) -> Option<CallArg> {
    let base = used.base();
    if is_ip_relative(used, ins) {
        let plain = !matches!(used.segment(), Register::FS | Register::GS);
        let arg = || image_arg(ArgKind::ImageAddr, AppPc(used.displacement()), image);
        return plain.then(arg).flatten();
    }
    let segment = match used.segment() {
        Register::FS => 1 << 4,
        Register::GS => 1 << 5,
        _ => 0,
    };
    let narrow = match used.address_size() {
        CodeSize::Code32 => 1 << 6,
        CodeSize::Code64 => 0,
        _ => narrow_by_registers(used)?,
    };
    Some(CallArg {
        kind: ArgKind::EffectiveAddr as u8,
        base: register_number(base)?,
        index: register_number(used.index())?,
        scale_seg: used.scale().trailing_zeros() as u8 | segment | narrow,
        value: halves(used.displacement()),
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
fn narrow_by_registers(used: &UsedMemory) -> Option<u8> {
    let register = match used.base() {
        Register::None => used.index(),
        base => base,
    };
    match register {
        Register::None => Some(0),
        register if register.is_gpr64() => Some(0),
        register if register.is_gpr32() => Some(1 << 6),
        _ => None,
    }
}

/// Hardware number, [`NO_REG`] for none; `None` for what is no address register.
fn register_number(register: Register) -> Option<u8> {
    match register {
        Register::None => Some(NO_REG),
        register if register.is_gpr64() || register.is_gpr32() => Some(register.number() as u8),
        _ => None,
    }
}

/// An argument that names an address of the image; `None` out of reach.
pub(crate) fn image_arg(kind: ArgKind, pc: AppPc, image: ImageBase) -> Option<CallArg> {
    let off = pc.offset_from(image)?;
    Some(plain_arg(kind, u64::from(off.0.cast_unsigned())))
}

/// An argument without registers.
pub(crate) fn plain_arg(kind: ArgKind, value: u64) -> CallArg {
    CallArg {
        kind: kind as u8,
        base: NO_REG,
        index: NO_REG,
        scale_seg: 0,
        value: halves(value),
    }
}

/// An argument that is a register's value.
pub(crate) fn reg_arg(reg: Reg) -> CallArg {
    CallArg {
        base: reg as u8,
        ..plain_arg(ArgKind::Reg, 0)
    }
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}
