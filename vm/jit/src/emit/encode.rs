//! Encodings of the few instructions that inserted code consists of, with any registers.

use super::asm::Asm;
use ppin_form::Gpr;

/// Opcodes of instructions with a register and a memory operand, or two registers.
pub(super) mod opcode {
    /// `mov r/m, r`
    pub(crate) const STORE: u8 = 0x89;
    /// `mov r, r/m`
    pub(crate) const LOAD: u8 = 0x8b;
    /// `lea r, m`
    pub(crate) const LEA: u8 = 0x8d;
    /// `xchg r/m, r`
    pub(crate) const XCHG: u8 = 0x87;
    /// `mov r/m, imm32`, with 0 in place of the register
    pub(crate) const SET: u8 = 0xc7;
    /// `add r/m, imm8`, likewise
    pub(crate) const ADD8: u8 = 0x83;
    /// `add r/m, imm32`, likewise
    pub(crate) const ADD32: u8 = 0x81;
    /// `pop m`, with 0 in place of the register
    pub(crate) const POP: u8 = 0x8f;
    /// `mov dl, imm8`
    pub(crate) const SET_DL: u8 = 0xb2;
    /// `push imm8`
    pub(crate) const PUSH_BYTE: u8 = 0x6a;
    /// `jmp m` with 4, `push m` with 6 in place of the register
    pub(crate) const INDIRECT: u8 = 0xff;
}

/// A memory operand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// In the thread area.
    pub gs: bool,
    pub base: Option<Gpr>,
    pub index: Option<Gpr>,
    /// The index counts as many times 2 to this.
    pub scale: u8,
    pub disp: i32,
}

impl Memory {
    /// `gs:[disp]`
    pub(super) const fn cell(disp: i32) -> Self {
        Self {
            gs: true,
            base: None,
            index: None,
            scale: 0,
            disp,
        }
    }

    /// `[base]`
    pub(super) fn at(base: Gpr) -> Self {
        Self {
            base: Some(base),
            ..Self::default()
        }
    }
}

const GS: u8 = 0x65;
const REX: u8 = 0x40;
const REX_W: u8 = 0x48;
/// In ModRM: a SIB byte follows. As index: none.
const SIB: u8 = 0b100;
/// As base without displacement: none, but 32 bits of displacement.
const NONE: u8 = 0b101;

/// One instruction without immediates; the longest has gs, REX, opcode, ModRM, SIB and a
/// displacement.
#[derive(Default)]
struct Code {
    bytes: [u8; 12],
    len: usize,
}

impl Code {
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn displacement(&mut self, disp: i32) {
        self.bytes[self.len..self.len + 4].copy_from_slice(&disp.to_le_bytes());
        self.len += 4;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn operand(&mut self, reg: u8, memory: Memory) {
        let low = |register: Gpr| register.number() & 7;
        let scale = memory.scale << 6;
        let Some(base) = memory.base else {
            self.push(reg << 3 | SIB);
            self.push(scale | memory.index.map_or(SIB, low) << 3 | NONE);
            return self.displacement(memory.disp);
        };
        let short = i8::try_from(memory.disp).ok();
        let mode = match short {
            Some(0) if low(base) != NONE => 0,
            Some(_) => 1,
            None => 2,
        };
        let sib = memory.index.is_some() || low(base) == SIB;
        let field = if sib { SIB } else { low(base) };
        self.push(mode << 6 | reg << 3 | field);
        if sib {
            self.push(scale | memory.index.map_or(SIB, low) << 3 | low(base));
        }
        match (mode, short) {
            (0, _) => {}
            (_, Some(disp)) => self.push(disp.cast_unsigned()),
            (_, None) => self.displacement(memory.disp),
        }
    }
}

/// The prefix for operands of 16 bits.
const OPERAND_SIZE: u8 = 0x66;

impl Asm {
    /// `op reg, memory`; `reg` may be a part of the opcode.
    pub(super) fn memory(&mut self, wide: bool, opcode: u8, reg: u8, memory: Memory) {
        let high = |register: Option<Gpr>| register.map_or(0, |r| r.number() >> 3);
        let rex = reg >> 3 << 2 | high(memory.index) << 1 | high(memory.base);
        let mut code = Code::default();
        if memory.gs {
            code.push(GS);
        }
        if wide {
            code.push(REX_W | rex);
        } else if rex != 0 {
            code.push(REX | rex);
        }
        code.push(opcode);
        code.operand(reg & 7, memory);
        self.bytes(code.bytes());
    }

    fn rex(&mut self, wide: bool, rex: u8) {
        if wide {
            self.push(REX_W | rex);
        } else if rex != 0 {
            self.push(REX | rex);
        }
    }

    /// `op reg, gs:[disp]`; `reg` may be a part of the opcode.
    pub(super) fn cell(&mut self, opcode: u8, reg: u8, disp: u32) {
        let [a, b, c, d] = disp.to_le_bytes();
        let modrm = (reg & 7) << 3 | SIB;
        let sib = SIB << 3 | NONE;
        let rex = REX_W | reg >> 3 << 2;
        self.bytes(&[GS, rex, opcode, modrm, sib, a, b, c, d]);
    }

    /// `op reg, memory` on so many `bytes`; `reg` may be a part of the opcode, which is that for more
    /// than one byte.
    pub(super) fn sized(&mut self, bytes: u8, opcode: u8, reg: u8, memory: Memory) {
        match bytes {
            8 => self.memory(true, opcode, reg, memory),
            2 => {
                self.push(OPERAND_SIZE);
                self.memory(false, opcode, reg, memory);
            }
            1 => self.byte(opcode & !1, reg, memory),
            _ => self.memory(false, opcode, reg, memory),
        }
    }

    /// The same on one byte: behind a REX prefix it is the lowest of any register.
    fn byte(&mut self, opcode: u8, reg: u8, memory: Memory) {
        let high = |register: Option<Gpr>| register.map_or(0, |r| r.number() >> 3);
        let rex = reg >> 3 << 2 | high(memory.index) << 1 | high(memory.base);
        let mut code = Code::default();
        if memory.gs {
            code.push(GS);
        }
        code.push(REX | rex);
        code.push(opcode);
        code.operand(reg & 7, memory);
        self.bytes(code.bytes());
    }

    /// `movzx to32, byte gs:[disp]`
    pub(super) fn load_byte(&mut self, to: Gpr, disp: u32) {
        let [a, b, c, d] = disp.to_le_bytes();
        self.push(GS);
        self.rex(false, to.number() >> 3 << 2);
        let modrm = (to.number() & 7) << 3 | SIB;
        self.bytes(&[0x0f, 0xb6, modrm, SIB << 3 | NONE, a, b, c, d]);
    }

    /// `cmp byte gs:[disp], 0`
    pub(super) fn compare_byte(&mut self, disp: u32) {
        const COMPARE: u8 = 7 << 3;
        let [a, b, c, d] = disp.to_le_bytes();
        let (modrm, sib) = (COMPARE | SIB, SIB << 3 | NONE);
        self.bytes(&[GS, 0x80, modrm, sib, a, b, c, d, 0]);
    }

    /// `cmp qword gs:[disp], 0`
    pub(super) fn compare_word(&mut self, disp: u32) {
        const COMPARE: u8 = 7;
        self.memory(true, 0x83, COMPARE, Memory::cell(disp.cast_signed()));
        self.push(0);
    }

    /// `op rm, reg`, both registers.
    pub(super) fn registers(&mut self, opcode: u8, reg: Gpr, rm: Gpr) {
        let rex = reg.number() >> 3 << 2 | rm.number() >> 3;
        self.rex(true, rex);
        let modrm = 0b11 << 6 | (reg.number() & 7) << 3 | rm.number() & 7;
        self.bytes(&[opcode, modrm]);
    }

    /// `op reg, [rip + 0]`; the caller relocates the last 4 bytes.
    pub(super) fn rip_relative(&mut self, wide: bool, opcode: u8, reg: u8) {
        let modrm = (reg & 7) << 3 | NONE;
        let rex = reg >> 3 << 2;
        if wide {
            self.bytes(&[REX_W | rex, opcode, modrm, 0, 0, 0, 0]);
        } else {
            self.rex(false, rex);
            self.bytes(&[opcode, modrm, 0, 0, 0, 0]);
        }
    }

    /// `mov to, value`, sign-extended if `wide`.
    pub(super) fn set_register(&mut self, wide: bool, to: Gpr, value: i32) {
        let low = to.number() & 7;
        self.rex(wide, to.number() >> 3);
        if wide {
            self.bytes(&[opcode::SET, 0b11 << 6 | low]);
        } else {
            self.push(0xb8 | low);
        }
        self.push_i32(value);
    }

    /// `mov to, high : low`
    pub(super) fn set_wide(&mut self, to: Gpr, low: u32, high: u32) {
        self.rex(true, to.number() >> 3);
        self.push(0xb8 | to.number() & 7);
        self.u32(low);
        self.u32(high);
    }

    /// `xbegin over; xabort 0; over:`
    pub(super) fn transaction(&mut self) {
        self.bytes(&[0xc7, 0xf8, 3, 0, 0, 0, 0xc6, 0xf8, 0]);
    }

    /// `pop to`
    pub(super) fn pop(&mut self, to: Gpr) {
        self.rex(false, to.number() >> 3);
        self.push(0x58 | to.number() & 7);
    }

    /// `lea to32, [to * 8]`
    pub(super) fn eightfold(&mut self, to: Gpr) {
        const EIGHT: u8 = 3 << 6;
        debug_assert!(
            to.number() < 8 && to != Gpr::RSP,
            "no prefix, an index register"
        );
        let modrm = to.number() << 3 | SIB;
        let sib = EIGHT | to.number() << 3 | NONE;
        self.bytes(&[opcode::LEA, modrm, sib, 0, 0, 0, 0]);
    }

    /// `rorx reg, reg, bits`
    pub(super) fn rotate(&mut self, reg: Gpr, bits: u8) {
        debug_assert!(reg.number() < 8, "without a bit of the prefix");
        let registers = 0b11 << 6 | reg.number() << 3 | reg.number();
        self.bytes(&[0xc4, 0xe3, 0xfb, 0xf0, registers, bits]);
    }

    /// `movzx to32, from`, its bits 8 to 15. Only the first four registers name them.
    pub(super) fn second_byte(&mut self, to: Gpr, from: Gpr) {
        debug_assert!(to.number() < 8 && from.number() < 4, "without a prefix");
        let registers = to.number() << 3 | (from.number() + 4);
        self.bytes(&[0x0f, 0xb6, 0b11 << 6 | registers]);
    }

    /// `movzx to32, from16`
    pub(super) fn low_half(&mut self, to: Gpr, from: Gpr) {
        self.rex(false, to.number() >> 3 << 2 | from.number() >> 3);
        let registers = (to.number() & 7) << 3 | from.number() & 7;
        self.bytes(&[0x0f, 0xb7, 0b11 << 6 | registers]);
    }

    /// `mov to16, from16`: the rest of `to` stays.
    pub(super) fn set_low_half(&mut self, to: Gpr, from: Gpr) {
        self.push(OPERAND_SIZE);
        self.rex(false, from.number() >> 3 << 2 | to.number() >> 3);
        let registers = (from.number() & 7) << 3 | to.number() & 7;
        self.bytes(&[opcode::STORE, 0b11 << 6 | registers]);
    }

    /// `rdfsbase` (0) or `wrfsbase` (2)
    pub(super) fn fs_base(&mut self, operation: u8, register: Gpr) {
        self.push(0xf3);
        self.rex(true, register.number() >> 3);
        let modrm = 0b11 << 6 | operation << 3 | register.number() & 7;
        self.bytes(&[0x0f, 0xae, modrm]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Register};

    fn decoded(write: impl Fn(&mut Asm)) -> Instruction {
        let mut asm = Asm::default();
        write(&mut asm);
        let bytes = asm.into_bytes();
        let ins = Decoder::new(64, &bytes, DecoderOptions::NONE).decode();
        assert_eq!(ins.len(), bytes.len(), "{bytes:02x?}");
        ins
    }

    fn all() -> impl Iterator<Item = Gpr> {
        (0..16).map(Gpr::new)
    }

    fn named(register: Option<Gpr>) -> Register {
        register.map_or(Register::None, Gpr::named)
    }

    #[test]
    fn memory_operands_with_all_registers() {
        let bases = || all().map(Some).chain([None]);
        let indices = || bases().filter(|index| *index != Some(Gpr::RSP));
        for (base, index) in bases().flat_map(|base| indices().map(move |index| (base, index))) {
            for disp in [0, 1, -128, 128, i32::MIN] {
                let scale = 2;
                let memory = Memory {
                    gs: false,
                    base,
                    index,
                    scale,
                    disp,
                };
                let ins = decoded(|asm| asm.memory(true, opcode::LOAD, 9, memory));
                assert_eq!(ins.code(), Code::Mov_r64_rm64);
                assert_eq!(ins.op0_register(), Register::R9);
                let scaled = index.is_some();
                assert!(!scaled || ins.memory_index_scale() == 1 << scale);
                let found = (ins.memory_base(), ins.memory_index());
                assert_eq!(found, (named(base), named(index)));
                assert_eq!(ins.memory_displacement64() as i32, disp);
                assert!(index.is_none() || ins.memory_index_scale() == 4);
            }
        }
    }

    #[test]
    fn fields_of_all_sizes() {
        for (reg, base) in all().flat_map(|reg| all().map(move |base| (reg, base))) {
            let memory = Memory {
                gs: true,
                base: Some(base),
                ..Memory::cell(-0x12_3456)
            };
            for (bytes, code) in [
                (1, Code::Mov_rm8_r8),
                (2, Code::Mov_rm16_r16),
                (4, Code::Mov_rm32_r32),
                (8, Code::Mov_rm64_r64),
            ] {
                let ins = decoded(|asm| asm.sized(bytes, opcode::STORE, reg.number(), memory));
                assert_eq!((ins.code(), ins.memory_base()), (code, base.named()));
                assert_eq!(ins.op1_register().full_register(), reg.named());
                assert_eq!(ins.memory_segment(), Register::GS);
                assert_eq!(ins.memory_displacement64() as i32, -0x12_3456);
            }
        }
    }

    #[test]
    fn bytes_of_cells() {
        for to in all() {
            let ins = decoded(|asm| asm.load_byte(to, 0x163));
            assert_eq!(ins.code(), Code::Movzx_r32_rm8);
            assert_eq!(ins.op0_register().full_register(), to.named());
            assert_eq!(
                (ins.memory_segment(), ins.memory_displacement64()),
                (Register::GS, 0x163)
            );
        }
        let ins = decoded(|asm| asm.compare_byte(0x163));
        assert_eq!((ins.code(), ins.immediate8()), (Code::Cmp_rm8_imm8, 0));
        assert_eq!(ins.memory_displacement64(), 0x163);
        let ins = decoded(|asm| asm.compare_word(0x2_0c58));
        assert_eq!((ins.code(), ins.immediate8to64()), (Code::Cmp_rm64_imm8, 0));
        assert_eq!(ins.memory_segment(), Register::GS);
        assert_eq!(ins.memory_displacement64(), 0x2_0c58);
    }

    #[test]
    fn cells_lie_in_gs() {
        let cell = Memory::cell(0x108);
        let ins = decoded(|asm| asm.memory(true, opcode::STORE, 1, cell));
        assert_eq!(ins.memory_segment(), Register::GS);
        assert_eq!((ins.memory_base(), ins.len()), (Register::None, 9));
        for number in 0..16 {
            let cell = Memory::cell(-8);
            let other = decoded(|asm| asm.memory(true, opcode::LOAD, number, cell));
            let same = decoded(|asm| asm.cell(opcode::LOAD, number, cell.disp.cast_unsigned()));
            assert_eq!(same, other);
        }
        let jump = decoded(|asm| asm.memory(false, opcode::INDIRECT, 4, cell));
        assert_eq!((jump.code(), jump.len()), (Code::Jmp_rm64, 8));
        let pop = decoded(|asm| asm.memory(false, opcode::POP, 0, cell));
        assert_eq!((pop.code(), pop.len()), (Code::Pop_rm64, 8));
    }

    #[test]
    fn two_registers() {
        for (reg, rm) in all().flat_map(|reg| all().map(move |rm| (reg, rm))) {
            let ins = decoded(|asm| asm.registers(opcode::STORE, reg, rm));
            assert_eq!(ins.code(), Code::Mov_rm64_r64);
            let found = (ins.op0_register(), ins.op1_register());
            assert_eq!(found, (rm.named(), reg.named()));
        }
    }

    #[test]
    fn an_index_of_eight_bytes() {
        for to in all().take(8).filter(|to| *to != Gpr::RSP) {
            let ins = decoded(|asm| asm.eightfold(to));
            assert_eq!(ins.code(), Code::Lea_r32_m);
            assert_eq!(ins.op0_register().full_register(), to.named());
            let (base, index) = (ins.memory_base(), ins.memory_index());
            assert_eq!((base, index), (Register::None, to.named()));
            let (scale, disp) = (ins.memory_index_scale(), ins.memory_displacement64());
            assert_eq!((scale, disp), (8, 0));
        }
        let second = [Register::AH, Register::CH, Register::DH, Register::BH];
        for (from, named) in all().zip(second) {
            let ins = decoded(|asm| asm.second_byte(Gpr::RAX, from));
            assert_eq!(ins.code(), Code::Movzx_r32_rm8);
            assert_eq!(
                (ins.op0_register(), ins.op1_register()),
                (Register::EAX, named)
            );
        }
    }

    #[test]
    fn one_register() {
        for to in all() {
            let name = to.named();
            let of = |write: &dyn Fn(&mut Asm)| {
                let ins = decoded(write);
                assert_eq!(ins.op0_register().full_register(), name);
                ins.code()
            };
            assert_eq!(of(&|asm| asm.pop(to)), Code::Pop_r64);
            assert_eq!(of(&|asm| asm.low_half(to, Gpr::RSP)), Code::Movzx_r32_rm16);
            if to.number() < 8 {
                assert_eq!(of(&|asm| asm.rotate(to, 3)), Code::VEX_Rorx_r64_rm64_imm8);
            }
            assert_eq!(
                of(&|asm| asm.set_register(true, to, -1)),
                Code::Mov_rm64_imm32
            );
            assert_eq!(
                of(&|asm| asm.set_register(false, to, 0)),
                Code::Mov_r32_imm32
            );
            assert_eq!(of(&|asm| asm.fs_base(0, to)), Code::Rdfsbase_r64);
            assert_eq!(of(&|asm| asm.fs_base(2, to)), Code::Wrfsbase_r64);
            let ins = decoded(|asm| asm.rip_relative(true, opcode::LEA, to.number()));
            assert_eq!(
                (ins.op0_register(), ins.memory_base()),
                (name, Register::RIP)
            );
        }
    }
}
