//! The target of an indirect branch, loaded into a register.
//!
//! ```text
//! Target:  jmp/call reg                Becomes: mov to, reg
//! Target:  jmp/call qword [operand]    Becomes: mov to, [operand]
//! ```

use super::absolute::Form;
use iced_x86::Register;
use ppin_decode::{Gpr, Ins, MAX_INS_LEN};

const REX_W: u8 = 0x48;
const REX_R: u8 = 0b100;
const REX_XB: u8 = 0b11;
const REX_B: u8 = 0b01;
const FS: u8 = 0x64;
const NARROW: u8 = 0x67;
const MOV_LOAD: u8 = 0x8b;

/// The load that stands for `ins`, made of `bytes`: `FF /r`, of which only the prefixes are
/// kept that change the address.
pub fn load(ins: &Ins, bytes: &[u8], to: Gpr) -> Option<Form> {
    let rip_relative = ins.disp_at != 0;
    let opcode_at = bytes.iter().position(|&byte| byte == 0xff)?;
    let (prefixes, rest) = bytes.split_at(opcode_at);
    let rex = prefixes.last().filter(|&&byte| byte & 0xf0 == 0x40);
    let kept = if rip_relative { REX_B } else { REX_XB };
    let mut code = [0; MAX_INS_LEN + 1];
    let mut len = 0;
    let mut put = |byte: u8| {
        code[len] = byte;
        len += 1;
    };
    if ins.raw.segment_prefix() == Register::FS {
        put(FS);
    }
    if prefixes.contains(&NARROW) {
        put(NARROW);
    }
    let high = if to.number() > 7 { REX_R } else { 0 };
    put(REX_W | high | rex.map_or(0, |rex| rex & kept));
    put(MOV_LOAD);
    let (modrm, operand) = rest.get(1..)?.split_first()?;
    put(modrm & 0b1100_0111 | (to.number() & 7) << 3);
    let disp_at = if rip_relative { len as u8 } else { 0 };
    code.get_mut(len..len + operand.len())?
        .copy_from_slice(operand);
    Form::copy(&code[..len + operand.len()], disp_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use iced_x86::{Decoder, DecoderOptions, FastFormatter};
    use ppin_abi::addr::AppPc;
    use ppin_decode::InsReader;

    fn text(bytes: &[u8], to: u8) -> String {
        let ins = InsReader::new(AppPc(0x1000), bytes).read().unwrap();
        let form = load(&ins, bytes, Gpr::new(to)).unwrap();
        let mut out = String::new();
        let raw = Decoder::with_ip(64, form.bytes(), 0x1000, DecoderOptions::NONE).decode();
        assert_eq!(raw.len(), form.bytes().len());
        FastFormatter::new().format(&raw, &mut out);
        out
    }

    #[test]
    fn operands_stay_what_they_are() {
        assert_eq!(text(&[0xff, 0xe0], 1), "mov rcx,rax");
        assert_eq!(text(&[0x41, 0xff, 0xe7], 9), "mov r9,r15");
        assert_eq!(text(&[0xff, 0x64, 0x24, 0x10], 1), "mov rcx,[rsp+10h]");
        assert_eq!(
            text(&[0x3e, 0x41, 0xff, 0x24, 0xcc], 2),
            "mov rdx,[r12+rcx*8]"
        );
        assert_eq!(text(&[0x64, 0xff, 0x10], 1), "mov rcx,fs:[rax]");
        assert_eq!(text(&[0x67, 0xff, 0x20], 8), "mov r8,[eax]");
    }
}
