//! From an operand in the gs segment to one on top of a register that holds the segment's
//! base and the operand's.
//!
//! ```text
//! Target:  op ..., gs:[base + index * scale + disp]
//! Becomes: op ..., [s + index * scale + disp]
//! ```

use alloc::vec::Vec;
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, Instruction, InstructionInfoFactory, OpAccess, Register,
};

use ppin_decode::{Gpr, Ins, RegSet};

/// Registers that may take the base's place.
const BASES: [Gpr; 7] = [
    Gpr::RCX,
    Gpr::RDX,
    Gpr::RBX,
    Gpr::RSI,
    Gpr::RDI,
    Gpr::RAX,
    Gpr::R8,
];

/// Whether there is a form.
pub fn convertible(ins: &Ins) -> bool {
    candidates(&ins.raw).next().is_some()
}

/// Registers by which `raw` has a form.
pub fn bases(raw: &Instruction) -> RegSet {
    candidates(raw).fold(RegSet::NONE, RegSet::with)
}

fn candidates(raw: &Instruction) -> impl Iterator<Item = Gpr> {
    let possible = plain_address(raw) && !pops_through_stack_pointer(raw);
    let used = if possible {
        used_registers(raw)
    } else {
        Vec::new()
    };
    let mut bases = BASES.into_iter().filter(move |_| possible);
    core::iter::from_fn(move || {
        bases.find(|base| !used.contains(&base.named()) && form(raw, *base).is_some())
    })
}

/// `raw` on top of `base`.
pub fn form(raw: &Instruction, base: Gpr) -> Option<Vec<u8>> {
    let mut moved = *raw;
    moved.set_segment_prefix(Register::None);
    moved.set_memory_base(base.named());
    if raw.memory_base() == Register::None {
        // No base and any displacement: 8 stands for a sign-extended field.
        moved.set_memory_displ_size(8);
    }
    encode(&moved).filter(|code| means(code, &moved))
}

/// A 64-bit address from registers and a displacement of 32 bits.
fn plain_address(raw: &Instruction) -> bool {
    let wide = |r: Register| r == Register::None || r.is_gpr64();
    let index = raw.memory_index();
    let narrow = raw.memory_base() == Register::None && raw.memory_displ_size() == 4;
    let reaches = i32::try_from(raw.memory_displacement64().cast_signed()).is_ok();
    wide(raw.memory_base()) && (wide(index) || index.is_vector_register()) && !narrow && reaches
}

/// `pop` computes its address from the stack pointer behind it.
fn pops_through_stack_pointer(raw: &Instruction) -> bool {
    matches!(raw.code(), Code::Pop_rm64 | Code::Pop_rm16) && raw.memory_base() == Register::RSP
}

/// All general registers that the instruction touches, named by their 64 bits.
fn used_registers(raw: &Instruction) -> Vec<Register> {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(raw);
    info.used_registers()
        .iter()
        .filter(|used| used.access() != OpAccess::None)
        .map(|used| used.register().full_register())
        .collect()
}

fn encode(ins: &Instruction) -> Option<Vec<u8>> {
    let mut encoder = Encoder::try_new(64).ok()?;
    encoder.encode(ins, ins.ip()).ok()?;
    Some(encoder.take_buffer())
}

/// Whether `code` is the instruction `wanted`.
fn means(code: &[u8], wanted: &Instruction) -> bool {
    let mut decoder = Decoder::with_ip(64, code, wanted.ip(), DecoderOptions::NONE);
    let mut found = decoder.decode();
    found.set_memory_displ_size(wanted.memory_displ_size());
    found.len() == code.len() && found == *wanted
}
