//! Stores whose place a register and a constant say.

use crate::{Gpr, effects};
use iced_x86::{
    Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic, OpKind, Register,
};

/// What an instruction stores: `len` bytes from `base + disp` on. The base has the value that it has
/// before the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BasedStore {
    /// A register that is no index.
    pub base: Gpr,
    /// What is added to it.
    pub disp: i32,
    /// At most so many bytes.
    pub len: u32,
}

/// The only store of an instruction. `None`: there is none, there are several, or it takes more to say where.
#[must_use]
pub fn store(raw: &Instruction, factory: &mut InstructionInfoFactory) -> Option<BasedStore> {
    let elsewhere = raw.mnemonic() == Mnemonic::Clzero
        || raw.is_string_instruction()
        || effects::is_bit_string(raw)
        || pops_to_memory(raw);
    if elsewhere {
        return None;
    }
    let info = factory.info_options(raw, InstructionInfoOptions::NO_REGISTER_USAGE);
    let mut written = (info.used_memory().iter()).filter(|used| effects::writes(used.access()));
    let (used, None) = (written.next()?, written.next()) else {
        return None;
    };
    let flat = !matches!(used.segment(), Register::FS | Register::GS);
    let based = used.base().is_gpr64() && used.index() == Register::None;
    let len = used.memory_size().size() as u32;
    (flat && based && len != 0).then_some(BasedStore {
        base: Gpr::holding(used.base())?,
        disp: i32::try_from(used.displacement() as i64).ok()?,
        len,
    })
}

/// The address is reckoned with the stack pointer of afterwards.
fn pops_to_memory(raw: &Instruction) -> bool {
    raw.mnemonic() == Mnemonic::Pop && raw.op0_kind() == OpKind::Memory
}

/// By how much an instruction moves the stack pointer, if it does nothing else to it; `None`: it gives it
/// another value.
#[must_use]
pub fn stack_moves(raw: &Instruction) -> Option<i32> {
    let to = (raw.op0_kind() == OpKind::Register).then(|| raw.op0_register());
    let to_stack = to == Some(Register::RSP);
    let to_part = to.is_some_and(|to| to.full_register() == Register::RSP);
    match raw.mnemonic() {
        Mnemonic::Pop if to_part => None,
        Mnemonic::Push | Mnemonic::Pop | Mnemonic::Pushfq | Mnemonic::Popfq => {
            Some(raw.stack_pointer_increment())
        }
        Mnemonic::Add | Mnemonic::Sub if to_stack => {
            let by = i32::try_from(raw.try_immediate(1).ok()? as i64).ok()?;
            match raw.mnemonic() {
                Mnemonic::Add => Some(by),
                _ => by.checked_neg(),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn decoded(bytes: &[u8]) -> Instruction {
        Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE).decode()
    }

    fn of(bytes: &[u8]) -> Option<(u8, i32, u32)> {
        let factory = &mut InstructionInfoFactory::new();
        store(&decoded(bytes), factory).map(|it| (it.base.number(), it.disp, it.len))
    }

    #[test]
    fn operands_and_the_stack() {
        assert_eq!(of(&[0x48, 0x89, 0x45, 0xf8]), Some((5, -8, 8))); // mov [rbp - 8], rax
        assert_eq!(of(&[0xc6, 0x03, 1]), Some((3, 0, 1))); // mov byte [rbx], 1
        assert_eq!(of(&[0xff, 0x4d, 8]), Some((5, 8, 4))); // dec dword [rbp + 8]
        assert_eq!(of(&[0x50]), Some((4, -8, 8))); // push rax
        assert_eq!(of(&[0xff, 0x30]), Some((4, -8, 8))); // push [rax]
        assert_eq!(of(&[0x0f, 0x11, 0x07]), Some((7, 0, 16))); // movups [rdi], xmm0
        assert_eq!(of(&[0xf0, 0x0f, 0xb1, 0x0e]), Some((6, 0, 4))); // lock cmpxchg [rsi], ecx
    }

    #[test]
    fn what_takes_more_to_say() {
        for bytes in [
            &[0x89, 0x0c, 0x18][..],                  // mov [rax + rbx], ecx
            &[0x89, 0x0d, 0, 0, 0, 0],                // mov [rip + 0], ecx
            &[0x67, 0x89, 0x08],                      // mov [eax], ecx
            &[0x64, 0x89, 0x08],                      // mov fs:[rax], ecx
            &[0xaa],                                  // stosb
            &[0x0f, 0xab, 0x00],                      // bts [rax], eax
            &[0x0f, 0x01, 0xfc],                      // clzero
            &[0x8f, 0x04, 0x24],                      // pop [rsp]
            &[0xc8, 8, 0, 1],                         // enter 8, 1
            &[0x0f, 0xae, 0x20],                      // xsave [rax]
            &[0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x0c, 0], // vpscatterdd [rax + zmm0]{k1}, zmm1
            &[0x8b, 0x08],                            // mov ecx, [rax]
            &[0x90],
        ] {
            assert_eq!(of(bytes), None, "{bytes:02x?}");
        }
    }

    #[test]
    fn the_stack_is_followed_as_long_as_it_only_moves() {
        let moves = |bytes: &[u8]| stack_moves(&decoded(bytes));
        assert_eq!(moves(&[0x50]), Some(-8)); // push rax
        assert_eq!(moves(&[0x66, 0x50]), Some(-2)); // push ax
        assert_eq!(moves(&[0x58]), Some(8)); // pop rax
        assert_eq!(moves(&[0x48, 0x83, 0xec, 16]), Some(-16)); // sub rsp, 16
        assert_eq!(moves(&[0x48, 0x81, 0xc4, 0, 1, 0, 0]), Some(256)); // add rsp, 256
        assert_eq!(moves(&[0x5c]), None); // pop rsp
        assert_eq!(moves(&[0x66, 0x5c]), None); // pop sp
        assert_eq!(moves(&[0x83, 0xec, 16]), None); // sub esp, 16
        assert_eq!(moves(&[0x48, 0x29, 0xc4]), None); // sub rsp, rax
        assert_eq!(moves(&[0xc9]), None); // leave
        assert_eq!(moves(&[0x48, 0x83, 0xe4, 0xf0]), None); // and rsp, -16
    }
}
