//! The address of an instruction's memory operand, in a register.
//!
//! ```text
//! Target:  op ..., seg:[operand]
//! Becomes: lea to, [operand]                   without the segment
//! ```

use super::absolute::Form;
use iced_x86::{Code, Encoder, OpKind, Register};
use ppin_decode::{Gpr, Ins, Kind};

/// `lea rax, [rip + distance]`
const LEA_RIP: [u8; 7] = [0x48, 0x8d, 0x05, 0, 0, 0, 0];
/// Offset of the distance in it.
const LEA_DISP: u8 = 3;

/// The `lea` for the operand of `ins`, its first one.
pub fn load(ins: &Ins, to: Gpr) -> Option<Form> {
    if ins.kind == Kind::RipRelative {
        let mut code = LEA_RIP;
        code[0] |= to.number() >> 3 << 2;
        code[2] |= (to.number() & 7) << 3;
        return Form::copy(&code, LEA_DISP);
    }
    let mut lea = ins.raw;
    lea.set_code(Code::Lea_r64_m);
    lea.set_op0_kind(OpKind::Register);
    lea.set_op0_register(to.named());
    lea.set_op1_kind(OpKind::Memory);
    lea.set_segment_prefix(Register::None);
    lea.set_has_lock_prefix(false);
    lea.set_has_rep_prefix(false);
    lea.set_has_repne_prefix(false);
    let mut encoder = Encoder::try_new(64).ok()?;
    encoder.encode(&lea, lea.ip()).ok()?;
    Form::copy(&encoder.take_buffer(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};
    use ppin_abi::addr::AppPc;
    use ppin_decode::InsReader;

    fn load_of(bytes: &[u8], to: Gpr) -> iced_x86::Instruction {
        let ins = InsReader::new(AppPc(0x1000), bytes).read().unwrap();
        let form = load(&ins, to).unwrap();
        Decoder::with_ip(64, form.bytes(), 0x1000, DecoderOptions::NONE).decode()
    }

    #[test]
    fn the_segment_is_left_out() {
        // mov fs:[rbx+rsi*4+8], rcx
        let lea = load_of(&[0x64, 0x48, 0x89, 0x4c, 0xb3, 8], Gpr::R8);
        assert_eq!(
            (lea.code(), lea.op0_register()),
            (Code::Lea_r64_m, Register::R8)
        );
        assert_eq!(lea.segment_prefix(), Register::None);
        let parts = (
            lea.memory_base(),
            lea.memory_index(),
            lea.memory_displacement64(),
        );
        assert_eq!(parts, (Register::RBX, Register::RSI, 8));
    }

    #[test]
    fn rip_relative_ones_are_aimed_later() {
        // mov [rip+0x100], rcx
        let lea = load_of(&[0x48, 0x89, 0x0d, 0, 1, 0, 0], Gpr::R8);
        assert_eq!(
            (lea.op0_register(), lea.memory_base()),
            (Register::R8, Register::RIP)
        );
        let lea = load_of(&[0x48, 0x89, 0x0d, 0, 1, 0, 0], Gpr::RCX);
        assert_eq!(lea.op0_register(), Register::RCX);
    }
}
