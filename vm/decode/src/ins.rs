//! App bytes to instructions.

use super::kind::{Kind, classify};
use super::x87;
use iced_x86::{Code, Decoder, DecoderError, DecoderOptions, Instruction, OpKind};
use ppin_abi::addr::AppPc;

/// Longest x86 instruction.
pub const MAX_INS_LEN: usize = 15;

/// A decoded app instruction.
#[derive(Clone, Copy, Debug)]
pub struct Ins {
    /// As iced decoded it, at its app address.
    pub raw: Instruction,
    /// Bytes from the head of the trace.
    pub offset: u32,
    /// What is to be done with it.
    pub kind: Kind,
    /// For a rip-relative operand: offset of its 32-bit field in the instruction.
    pub disp_at: u8,
    /// The x87 instruction pointer that it stores.
    pub x87_pointer: Option<x87::PointerField>,
    /// For a jump or a conditional branch: the trace goes on where it leads, and is left on the other way.
    pub followed: bool,
}

#[expect(clippy::len_without_is_empty, reason = "no instruction is empty")]
impl Ins {
    /// Room for one ([`InsReader::read_into`]).
    #[must_use]
    pub fn blank() -> Self {
        Self {
            raw: Instruction::new(),
            offset: 0,
            kind: Kind::Verbatim,
            disp_at: 0,
            x87_pointer: None,
            followed: false,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u32 {
        self.raw.len() as u32
    }

    /// Its app address.
    pub fn pc(&self) -> AppPc {
        AppPc(self.raw.ip())
    }

    /// App address of its successor.
    pub fn next(&self) -> AppPc {
        AppPc(self.raw.next_ip())
    }

    /// Offset of its successor from the head of the trace.
    pub fn end(&self) -> u32 {
        self.offset + self.len()
    }

    /// Target of a direct branch.
    pub fn target(&self) -> AppPc {
        AppPc(self.raw.near_branch_target())
    }

    /// Where the trace goes on behind it, if it does.
    pub fn goes_on(&self) -> AppPc {
        if self.followed {
            self.target()
        } else {
            self.next()
        }
    }

    /// Where a direct branch leaves the trace to, if it does.
    pub fn leaves_to(&self) -> AppPc {
        if self.followed {
            self.next()
        } else {
            self.target()
        }
    }

    /// The condition on which a conditional branch leaves the trace, as [`Self::condition`] has it.
    pub fn leaves_on(&self) -> u8 {
        self.condition() ^ u8::from(self.followed)
    }

    /// Whether nothing is left to do: a jump that the trace follows.
    pub fn is_nothing(&self) -> bool {
        self.followed && self.kind == Kind::Jump
    }

    /// Whether a trace goes on behind it.
    pub const fn falls_through(&self) -> bool {
        self.followed || self.kind.falls_through()
    }

    /// The number of its condition in the opcode, `7x` or `0f 8x`: iced numbers conditions
    /// from 1, in another order.
    pub fn condition(&self) -> u8 {
        use iced_x86::ConditionCode as C;
        match self.raw.condition_code() {
            C::o | C::None => 0x0,
            C::no => 0x1,
            C::b => 0x2,
            C::ae => 0x3,
            C::e => 0x4,
            C::ne => 0x5,
            C::be => 0x6,
            C::a => 0x7,
            C::s => 0x8,
            C::ns => 0x9,
            C::p => 0xa,
            C::np => 0xb,
            C::l => 0xc,
            C::ge => 0xd,
            C::le => 0xe,
            C::g => 0xf,
        }
    }

    /// Whether it is a store of 8 bytes, which may announce a restartable sequence.
    pub fn stores_word(&self) -> bool {
        let store = matches!(self.raw.code(), Code::Mov_rm64_r64 | Code::Mov_rm64_imm32);
        let here = matches!(self.kind, Kind::Verbatim | Kind::RipRelative);
        store && here && self.raw.op0_kind() == OpKind::Memory
    }
}

/// Why there is no instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoIns {
    /// The bytes end within it.
    Incomplete,
    /// They are no instruction.
    Invalid,
}

/// Makes the tables that instructions are decoded by, if there are none: else the first instruction does. A
/// process makes them once, in half a millisecond, and its forked children have them.
pub fn prepare() {
    // (The decoder has no other way to ask for them.)
    let _ = InsReader::new(AppPc(0), &[]);
}

/// Decodes `bytes`, which lie at `pc`, one instruction after the other.
pub struct InsReader<'a> {
    decoder: Decoder<'a>,
    /// Where its bytes begin, from the head of the trace.
    start: u32,
}

impl<'a> InsReader<'a> {
    /// Reads from `pc` on, where `bytes` lie.
    pub fn new(pc: AppPc, bytes: &'a [u8]) -> Self {
        Self::within(pc, 0, bytes)
    }

    /// Reads from `start` bytes behind `head` on, where `bytes` lie.
    pub fn within(head: AppPc, start: u32, bytes: &'a [u8]) -> Self {
        let pc = head.0.wrapping_add(start.into());
        Self {
            decoder: Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE),
            start,
        }
    }

    /// The next instruction.
    pub fn read(&mut self) -> Result<Ins, NoIns> {
        let mut ins = Ins::blank();
        self.read_into(&mut ins)?;
        Ok(ins)
    }

    /// Reads the next instruction to `ins`, where it will stay: the decoder writes field by field, and a copy
    /// made at once waits for all of them. If there is none, what is in `ins` means nothing.
    pub fn read_into(&mut self, ins: &mut Ins) -> Result<(), NoIns> {
        ins.offset = self.start + self.decoder.position() as u32;
        self.decoder.decode_out(&mut ins.raw);
        match self.decoder.last_error() {
            DecoderError::None => {}
            DecoderError::NoMoreBytes => return Err(NoIns::Incomplete),
            _ => return Err(NoIns::Invalid),
        }
        let raw = &ins.raw;
        ins.kind = classify(raw);
        ins.followed = false;
        ins.x87_pointer = x87::pointer_field(raw);
        ins.disp_at = if raw.is_ip_rel_memory_operand() {
            let constants = self.decoder.get_constant_offsets(raw);
            constants.displacement_offset() as u8
        } else {
            0
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_tells_a_cut_instruction_from_none() {
        let read = |bytes: &[u8]| InsReader::new(AppPc(0), bytes).read().unwrap_err();
        assert_eq!(read(&[0x48, 0xb8, 1]), NoIns::Incomplete);
        assert_eq!(read(&[]), NoIns::Incomplete);
        assert_eq!(read(&[0x06, 0x90]), NoIns::Invalid);
        assert_eq!(read(&[0x66; 16]), NoIns::Invalid);
    }
}
