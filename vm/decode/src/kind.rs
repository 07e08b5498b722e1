//! The treatment that each instruction needs.

use iced_x86::{Code, FlowControl, Instruction, OpKind, Register};
use ppin_abi::record::Trap;

/// What the compiler has to do with an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Copied; control goes on behind it.
    Verbatim,
    /// Copied, with its rip-relative field aimed at the app's address.
    RipRelative,
    /// `cpuid`.
    Cpuid,
    /// `popf`.
    PopFlags,
    /// Its memory operand lies in the gs segment.
    GsMemory,
    /// Reads or writes the base of the gs segment.
    GsBase,
    /// Copied; the CPU raises something there (`int3`, `ud2`, privileged).
    Faulting,
    /// `jmp` to a fixed target.
    Jump,
    /// `jcc`.
    CondJump,
    /// `loop`, `loope`, `loopne`, `jrcxz`: short forms only.
    ShortJump,
    /// `xbegin`, which always aborts here.
    TransactionBegin,
    /// `call` of a fixed target.
    Call,
    /// `jmp` through a register or memory.
    IndirectJump,
    /// `call` through a register or memory.
    IndirectCall,
    /// `ret`, `ret n`.
    Ret,
    /// `syscall`.
    Syscall,
    /// Left to the VM.
    Trap(Trap),
}

impl Kind {
    /// Whether it is no more than an operation: control goes on behind it.
    pub const fn is_plain(self) -> bool {
        matches!(
            self,
            Self::Verbatim
                | Self::RipRelative
                | Self::Cpuid
                | Self::PopFlags
                | Self::GsMemory
                | Self::GsBase
        )
    }

    /// Whether a block ends behind it, however the trace was chosen.
    pub const fn ends_block(self) -> bool {
        !self.is_plain()
    }

    /// Whether a trace goes on behind it.
    pub const fn falls_through(self) -> bool {
        self.is_plain() || matches!(self, Self::CondJump | Self::ShortJump)
    }

    /// Whether it is a call: control comes back behind it, as a rule.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::IndirectCall)
    }

    /// Whether it has a fixed target beside its successor.
    pub const fn is_direct_branch(self) -> bool {
        matches!(
            self,
            Self::Jump | Self::CondJump | Self::ShortJump | Self::Call | Self::TransactionBegin
        )
    }
}

/// The kind of `raw`.
pub(crate) fn classify(raw: &Instruction) -> Kind {
    if raw.segment_prefix() == Register::GS && accesses_segment(raw) {
        return gs_operand(raw);
    }
    match raw.flow_control() {
        FlowControl::Next => classify_plain(raw),
        FlowControl::UnconditionalBranch => by_code(raw, Kind::Jump),
        FlowControl::ConditionalBranch => conditional(raw),
        FlowControl::IndirectBranch => by_code(raw, Kind::IndirectJump),
        FlowControl::Call => by_code(raw, Kind::Call),
        FlowControl::IndirectCall => by_code(raw, Kind::IndirectCall),
        FlowControl::Return => by_code(raw, Kind::Ret),
        FlowControl::XbeginXabortXend => transaction(raw),
        FlowControl::Interrupt => interrupt(raw),
        FlowControl::Exception => Kind::Faulting,
    }
}

/// Whether the segment of the operand matters: `lea` and the long `nop` only look
/// as if they touched memory.
fn accesses_segment(raw: &Instruction) -> bool {
    if matches!(
        raw.mnemonic(),
        iced_x86::Mnemonic::Lea | iced_x86::Mnemonic::Nop
    ) {
        return false;
    }
    raw.op_kinds().any(|kind| {
        matches!(
            kind,
            OpKind::Memory
                | OpKind::MemorySegSI
                | OpKind::MemorySegESI
                | OpKind::MemorySegRSI
                | OpKind::MemorySegDI
                | OpKind::MemorySegEDI
                | OpKind::MemorySegRDI
        )
    })
}

/// What to do with an operand in the gs segment; not all that looks convertible is (see
/// `operand::rebased`).
fn gs_operand(raw: &Instruction) -> Kind {
    let plain = raw.flow_control() == FlowControl::Next
        && !raw.code().is_privileged()
        && raw.op_kinds().any(|kind| kind == OpKind::Memory)
        && !raw.is_ip_rel_memory_operand();
    if plain {
        Kind::GsMemory
    } else {
        Kind::Trap(Trap::Segment)
    }
}

fn classify_plain(raw: &Instruction) -> Kind {
    let code = raw.code();
    if touches_gs_base(code) {
        return Kind::GsBase;
    }
    if touches_gs_selector(raw) {
        return Kind::Trap(Trap::Segment);
    }
    if code.is_privileged() {
        return Kind::Faulting;
    }
    if matches!(code, Code::Enclu | Code::Uiret) {
        return Kind::Trap(Trap::Unsupported);
    }
    if code == Code::Cpuid {
        return Kind::Cpuid;
    }
    if matches!(code, Code::Popfq | Code::Popfw) {
        return Kind::PopFlags;
    }
    if raw.is_ip_rel_memory_operand() {
        return Kind::RipRelative;
    }
    Kind::Verbatim
}

fn touches_gs_base(code: Code) -> bool {
    matches!(
        code,
        Code::Rdgsbase_r32 | Code::Rdgsbase_r64 | Code::Wrgsbase_r32 | Code::Wrgsbase_r64
    )
}

/// Instructions that read or load the selector of GS.
fn touches_gs_selector(raw: &Instruction) -> bool {
    match raw.code() {
        Code::Popw_GS
        | Code::Popq_GS
        | Code::Pushw_GS
        | Code::Pushq_GS
        | Code::Lgs_r16_m1616
        | Code::Lgs_r32_m1632
        | Code::Lgs_r64_m1664 => true,
        Code::Mov_Sreg_rm16 | Code::Mov_Sreg_r32m16 | Code::Mov_Sreg_r64m16 => {
            raw.op0_register() == Register::GS
        }
        Code::Mov_rm16_Sreg | Code::Mov_r32m16_Sreg | Code::Mov_r64m16_Sreg => {
            raw.op1_register() == Register::GS
        }
        _ => false,
    }
}

/// Near transfers of 64-bit operand size are rewritten; far and 16-bit ones are not.
fn by_code(raw: &Instruction, near: Kind) -> Kind {
    match raw.code() {
        Code::Jmp_rel8_64
        | Code::Jmp_rel32_64
        | Code::Jmp_rm64
        | Code::Call_rel32_64
        | Code::Call_rm64
        | Code::Retnq
        | Code::Retnq_imm16 => near,
        Code::Syscall => Kind::Syscall,
        _ => Kind::Trap(Trap::Unsupported),
    }
}

fn conditional(raw: &Instruction) -> Kind {
    if raw.is_jcc_short_or_near() && raw.op0_kind() == OpKind::NearBranch64 {
        Kind::CondJump
    } else if (raw.is_loop() || raw.is_loopcc() || raw.is_jcx_short())
        && raw.op0_kind() == OpKind::NearBranch64
    {
        Kind::ShortJump
    } else {
        Kind::Trap(Trap::Unsupported)
    }
}

/// `xabort` outside a transaction does nothing, `xend` faults: the CPU knows.
fn transaction(raw: &Instruction) -> Kind {
    match raw.code() {
        Code::Xbegin_rel16 | Code::Xbegin_rel32 => Kind::TransactionBegin,
        Code::Xend => Kind::Faulting,
        _ => Kind::Verbatim,
    }
}

fn interrupt(raw: &Instruction) -> Kind {
    match raw.code() {
        Code::Int_imm8 if raw.immediate8() == 0x80 => Kind::Trap(Trap::Int80),
        Code::Int_imm8 | Code::Int1 | Code::Int3 => Kind::Faulting,
        _ => Kind::Trap(Trap::Unsupported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InsReader;
    use ppin_abi::addr::AppPc;

    fn kind(bytes: &[u8]) -> Kind {
        InsReader::new(AppPc(0x1000), bytes).read().unwrap().kind
    }

    const UNSUPPORTED: Kind = Kind::Trap(Trap::Unsupported);
    const SEGMENT: Kind = Kind::Trap(Trap::Segment);

    #[test]
    fn near_transfers_are_told_apart() {
        assert_eq!(kind(&[0xeb, 0]), Kind::Jump);
        assert_eq!(kind(&[0xe9, 0, 0, 0, 0]), Kind::Jump);
        assert_eq!(kind(&[0xf2, 0xe9, 0, 0, 0, 0]), Kind::Jump);
        assert_eq!(kind(&[0x74, 0]), Kind::CondJump);
        assert_eq!(kind(&[0x2e, 0x0f, 0x84, 0, 0, 0, 0]), Kind::CondJump);
        assert_eq!(kind(&[0xe2, 0]), Kind::ShortJump);
        assert_eq!(kind(&[0xe8, 0, 0, 0, 0]), Kind::Call);
        assert_eq!(kind(&[0xff, 0xd0]), Kind::IndirectCall);
        assert_eq!(kind(&[0x3e, 0xff, 0xe0]), Kind::IndirectJump);
        assert_eq!(kind(&[0xf3, 0xc3]), Kind::Ret);
        assert_eq!(kind(&[0xc2, 8, 0]), Kind::Ret);
        assert_eq!(kind(&[0x0f, 0x05]), Kind::Syscall);
    }

    #[test]
    fn far_transfers_and_gates_are_left_to_the_vm() {
        assert_eq!(kind(&[0xcb]), UNSUPPORTED);
        assert_eq!(kind(&[0x48, 0xcf]), UNSUPPORTED);
        assert_eq!(kind(&[0xff, 0x28]), UNSUPPORTED);
        assert_eq!(kind(&[0xff, 0x18]), UNSUPPORTED);
        assert_eq!(kind(&[0x0f, 0x34]), UNSUPPORTED);
        assert_eq!(kind(&[0xcd, 0x80]), Kind::Trap(Trap::Int80));
    }

    #[test]
    fn gs_is_ours() {
        assert_eq!(kind(&[0x65, 0x48, 0x8b, 0x00]), Kind::GsMemory);
        assert_eq!(kind(&[0xf3, 0x48, 0x0f, 0xae, 0xc8]), Kind::GsBase);
        // movsb, jmp [rax], [rip], the selector
        assert_eq!(kind(&[0x65, 0xa4]), SEGMENT);
        assert_eq!(kind(&[0x65, 0xff, 0x20]), SEGMENT);
        assert_eq!(kind(&[0x65, 0x8b, 0x05, 0, 0, 0, 0]), SEGMENT);
        assert_eq!(kind(&[0x8e, 0xe8]), SEGMENT);
        assert_eq!(kind(&[0x8c, 0xe8]), SEGMENT);
        assert_eq!(kind(&[0x0f, 0xa9]), SEGMENT);
        assert_eq!(kind(&[0x0f, 0xa8]), SEGMENT);
        // fs is the app's
        assert_eq!(kind(&[0x64, 0x48, 0x8b, 0x00]), Kind::Verbatim);
        assert_eq!(kind(&[0xf3, 0x48, 0x0f, 0xae, 0xd0]), Kind::Verbatim);
        assert_eq!(kind(&[0x0f, 0x01, 0xf8]), Kind::Faulting);
    }

    #[test]
    fn exceptions_are_the_cpus() {
        for bytes in [
            &[0xcc][..],
            &[0x0f, 0x0b],
            &[0xf4],
            &[0xf1],
            &[0xcd, 3],
            &[0xec],
        ] {
            assert_eq!(kind(bytes), Kind::Faulting, "{bytes:02x?}");
        }
    }
}
