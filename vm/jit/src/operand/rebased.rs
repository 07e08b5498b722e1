//! From an operand in the gs segment to one on top of a register that holds the segment's
//! base.
//!
//! ```text
//! Target:  op ..., gs:[base + index * scale + disp]
//! Becomes: lea s, [base + s]                if there is a base; s: base of the segment
//!          op ..., [s + index * scale + disp]
//! ```

use crate::decode::Ins;
use alloc::vec::Vec;
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, Instruction, InstructionInfoFactory, MemoryOperand,
    OpAccess, Register,
};
use ppin_abi::area::Spill;

/// Registers that may be borrowed, the first ones first.
const SCRATCH: [(Register, Spill); 7] = [
    (Register::RCX, Spill::Rcx),
    (Register::RDX, Spill::Rdx),
    (Register::RBX, Spill::Rbx),
    (Register::RSI, Spill::Rsi),
    (Register::RDI, Spill::Rdi),
    (Register::RAX, Spill::Rax),
    (Register::R8, Spill::R8),
];

/// How one instruction is rewritten.
pub(crate) struct Form {
    pub scratch: Spill,
    /// `lea s, [base + s]`, or nothing.
    pub add_base: Vec<u8>,
    /// The instruction itself.
    pub code: Vec<u8>,
}

/// Whether there is a form.
pub(crate) fn convertible(ins: &Ins) -> bool {
    form(&ins.raw).is_some()
}

/// The form of `raw`, if it has one.
pub(crate) fn form(raw: &Instruction) -> Option<Form> {
    if !plain_address(raw) || pops_through_stack_pointer(raw) {
        return None;
    }
    let used = used_registers(raw);
    let mut free = SCRATCH.iter().filter(|(reg, _)| !used.contains(reg));
    free.find_map(|(reg, spill)| form_with(raw, *reg, *spill))
}

fn form_with(raw: &Instruction, scratch: Register, spill: Spill) -> Option<Form> {
    let base = raw.memory_base();
    let add_base = if base == Register::None {
        Vec::new()
    } else {
        let sum = MemoryOperand::with_base_index(base, scratch);
        encode(&Instruction::with2(Code::Lea_r64_m, scratch, sum).ok()?)?
    };
    let mut moved = *raw;
    moved.set_segment_prefix(Register::None);
    moved.set_memory_base(scratch);
    if base == Register::None {
        // No base and any displacement: 8 stands for a sign-extended field.
        moved.set_memory_displ_size(8);
    }
    let code = encode(&moved).filter(|code| means(code, &moved))?;
    Some(Form {
        scratch: spill,
        add_base,
        code,
    })
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
