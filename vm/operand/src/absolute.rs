//! From a rip-relative operand to an absolute one of 32 bits.
//!
//! ```text
//! Target:  ModRM mod=00 rm=101, disp32
//! Becomes: ModRM mod=00 rm=100, SIB 0x25 (no base, no index), disp32
//! ```
//! One byte longer. In the first form the X bit of a REX, VEX or EVEX prefix means
//! nothing, in the second it would name r12 as index; so the result is decoded and
//! compared, and where the short way does not work, encoded anew.

use iced_x86::{Decoder, DecoderOptions, Encoder, Instruction, Register};
use ppin_decode::{Ins, MAX_INS_LEN as MAX_LEN};

/// SIB: no base (a 32-bit displacement instead), no index.
const SIB_ABSOLUTE: u8 = 0x25;

/// An instruction with one 32-bit address field.
#[derive(Clone, Copy)]
pub struct Form {
    code: [u8; MAX_LEN],
    /// Bytes of it.
    pub len: u8,
    /// Offset of the field.
    pub disp_at: u8,
}

impl Form {
    /// `bytes` as they are.
    pub fn copy(bytes: &[u8], disp_at: u8) -> Option<Self> {
        let mut code = [0; MAX_LEN];
        code.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self {
            code,
            len: bytes.len() as u8,
            disp_at,
        })
    }

    /// The instruction.
    pub fn bytes(&self) -> &[u8] {
        &self.code[..usize::from(self.len)]
    }

    /// The absolute form, if it is no longer than an instruction may be.
    pub fn to_absolute(self) -> Option<Self> {
        let field = usize::from(self.disp_at);
        let len = usize::from(self.len);
        if len == MAX_LEN || field == 0 {
            return None;
        }
        let mut code = self.code;
        code[field - 1] = code[field - 1] & 0b0011_1000 | 0b100;
        code[field] = SIB_ABSOLUTE;
        code[field + 1..=len].copy_from_slice(&self.code[field..len]);
        Some(Self {
            code,
            len: self.len + 1,
            disp_at: self.disp_at + 1,
        })
    }
}

/// Whether [`convert`] finds a form.
pub fn convertible(ins: &Ins, bytes: &[u8]) -> bool {
    convert(ins, bytes).is_some()
}

/// `ins`, made of `bytes`, with an absolute operand.
pub fn convert(ins: &Ins, bytes: &[u8]) -> Option<Form> {
    let target = ins.raw.ip_rel_memory_address();
    i32::try_from(target).ok()?;
    let wanted = with_absolute_operand(&ins.raw, target);
    let by_hand = Form::copy(bytes, ins.disp_at).and_then(Form::to_absolute);
    by_hand
        .filter(|form| means(form, &wanted))
        .or_else(|| encode(&wanted).filter(|form| means(form, &wanted)))
}

fn with_absolute_operand(raw: &Instruction, target: u64) -> Instruction {
    let mut wanted = *raw;
    wanted.set_memory_base(Register::None);
    wanted.set_memory_displacement64(target);
    wanted
}

/// Whether the code of `form`, its field filled in, is the instruction `wanted`.
fn means(form: &Form, wanted: &Instruction) -> bool {
    let mut code = form.code;
    let field = usize::from(form.disp_at);
    let displacement = wanted.memory_displacement64() as u32;
    let Some(bytes) = code.get_mut(field..field + 4) else {
        return false;
    };
    bytes.copy_from_slice(&displacement.to_le_bytes());
    let bytes = &code[..usize::from(form.len)];
    let mut decoder = Decoder::with_ip(64, bytes, wanted.ip(), DecoderOptions::NONE);
    let mut found = decoder.decode();
    found.set_memory_displ_size(wanted.memory_displ_size());
    found.len() == bytes.len() && found == *wanted
}

fn encode(wanted: &Instruction) -> Option<Form> {
    let mut encoder = Encoder::try_new(64).ok()?;
    let mut wanted = *wanted;
    wanted.set_memory_displ_size(8);
    encoder.encode(&wanted, wanted.ip()).ok()?;
    let disp_at = encoder.get_constant_offsets().displacement_offset() as u8;
    Form::copy(&encoder.take_buffer(), disp_at)
}
