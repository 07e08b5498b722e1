//! The target of an indirect branch, in rcx.
//!
//! ```text
//! Target:  jmp/call reg                Becomes: mov rcx, reg
//! Target:  jmp/call qword [operand]    Becomes: mov rcx, [operand]
//! ```
//! Runs before anything else of the branch, so that every operand has its app
//! value: rcx itself, and rsp before a call pushes.

use super::site::Site;
use crate::emit::Emitter;
use crate::operand::absolute::Form;
use iced_x86::Register;
use ppin_abi::addr::AppPc;

const REX_W: u8 = 0x48;
const REX_XB: u8 = 0b11;
const REX_B: u8 = 0b01;
const MOV_LOAD: u8 = 0x8b;
const RCX: u8 = 1;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let rip_relative = site.ins.disp_at != 0;
    // The instruction has an opcode and a ModRM byte: else it had not been decoded.
    let Some(form) = load_form(site, rip_relative) else {
        return;
    };
    if !rip_relative {
        return emitter.hot.bytes(form.bytes());
    }
    let operand = AppPc(site.ins.raw.ip_rel_memory_address());
    let form = if emitter.is_low() {
        form.to_absolute()
    } else {
        Some(form)
    };
    if let Some(form) = form {
        emitter.form(&form, operand);
    }
}

/// `FF /r` to `REX.W 8B /rcx`, keeping only the prefixes that change the address.
fn load_form(site: &Site<'_>, rip_relative: bool) -> Option<Form> {
    let opcode_at = site.bytes.iter().position(|&byte| byte == 0xff)?;
    let (prefixes, rest) = site.bytes.split_at(opcode_at);
    let rex = prefixes.last().filter(|&&byte| byte & 0xf0 == 0x40);
    let kept = if rip_relative { REX_B } else { REX_XB };
    let mut code = [0; 16];
    let mut len = 0;
    let mut put = |byte: u8| {
        code[len] = byte;
        len += 1;
    };
    if site.ins.raw.segment_prefix() == Register::FS {
        put(0x64);
    }
    if prefixes.contains(&0x67) {
        put(0x67);
    }
    put(REX_W | rex.map_or(0, |rex| rex & kept));
    put(MOV_LOAD);
    let (modrm, operand) = rest.get(1..)?.split_first()?;
    put(modrm & 0b1100_0111 | RCX << 3);
    let disp_at = if rip_relative { len as u8 } else { 0 };
    code.get_mut(len..len + operand.len())?
        .copy_from_slice(operand);
    Form::copy(&code[..len + operand.len()], disp_at)
}
