//! Whether an instruction does its work whenever it is executed.

use crate::ins::Ins;
use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind};

/// What decides whether an instruction does its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// A condition, as opcodes number it: the low bit negates it.
    Flags(u8),
    /// A count in rcx, or ecx if `narrow`, that is not 0.
    Count {
        /// Whether addresses have 32 bits.
        narrow: bool,
    },
    /// A mask.
    Mask,
}

impl Ins {
    /// What decides whether it does its work, if anything does.
    #[must_use]
    pub fn predicate(&self) -> Option<Predicate> {
        let raw = &self.raw;
        if raw.is_string_instruction() && (raw.has_rep_prefix() || raw.has_repne_prefix()) {
            let narrow = is_narrow(raw);
            return Some(Predicate::Count { narrow });
        }
        if let Some(condition) = x87_condition(raw.mnemonic()) {
            return Some(Predicate::Flags(condition));
        }
        // (Jumps and `setcc` have one operand, `cmpccxadd` has three.)
        if raw.condition_code() != ConditionCode::None && raw.op_count() == 2 {
            return Some(Predicate::Flags(self.condition()));
        }
        is_masked(raw).then_some(Predicate::Mask)
    }
}

/// Whether a string instruction has addresses, and a count, of 32 bits.
fn is_narrow(raw: &Instruction) -> bool {
    let narrow = |kind| {
        matches!(
            kind,
            OpKind::MemorySegESI | OpKind::MemorySegEDI | OpKind::MemoryESEDI
        )
    };
    raw.op_kinds().any(narrow)
}

/// The condition of a conditional move between x87 registers.
fn x87_condition(mnemonic: Mnemonic) -> Option<u8> {
    Some(match mnemonic {
        Mnemonic::Fcmovb => 0x2,
        Mnemonic::Fcmovnb => 0x3,
        Mnemonic::Fcmove => 0x4,
        Mnemonic::Fcmovne => 0x5,
        Mnemonic::Fcmovbe => 0x6,
        Mnemonic::Fcmovnbe => 0x7,
        Mnemonic::Fcmovu => 0xa,
        Mnemonic::Fcmovnu => 0xb,
        _ => return None,
    })
}

fn is_masked(raw: &Instruction) -> bool {
    use Mnemonic as M;
    raw.has_op_mask()
        || raw.is_vsib()
        || matches!(
            raw.mnemonic(),
            M::Maskmovq
                | M::Maskmovdqu
                | M::Vmaskmovdqu
                | M::Vmaskmovps
                | M::Vmaskmovpd
                | M::Vpmaskmovd
                | M::Vpmaskmovq
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InsReader;
    use ppin_abi::addr::AppPc;

    fn predicate(code: &[u8]) -> Option<Predicate> {
        let ins = InsReader::new(AppPc(0x1000), code).read();
        ins.unwrap().predicate()
    }

    #[test]
    fn flags_counts_and_masks_decide() {
        let count = |narrow| Some(Predicate::Count { narrow });
        let all: [(&[u8], Option<Predicate>); 10] = [
            (&[0x48, 0x0f, 0x4c, 0xc3], Some(Predicate::Flags(0xc))), // cmovl rax, rbx
            (&[0xdb, 0xd9], Some(Predicate::Flags(0xb))),             // fcmovnu st, st1
            (&[0xf3, 0x48, 0xab], count(false)),                      // rep stosq
            (&[0xf2, 0x67, 0xae], count(true)),                       // repne scasb, edi
            (&[0xf3, 0x67, 0xac], count(true)),                       // rep lodsb, esi
            (&[0x48, 0xab], None),                                    // stosq
            (&[0xf3, 0xc3], None),                                    // rep ret
            (&[0x0f, 0x94, 0xc0], None),                              // sete al
            (&[0x0f, 0xf7, 0xc1], Some(Predicate::Mask)),             // maskmovq mm0, mm1
            (&[0xc4, 0xe2, 0x71, 0x8c, 0x00], Some(Predicate::Mask)), // vpmaskmovd
        ];
        for (code, expected) in all {
            assert_eq!(predicate(code), expected, "{code:02x?}");
        }
    }
}
