//! What a call of a function destroys.

use crate::function::{Callee, Function, Node};
use crate::registers::CALLER_SAVED;
use alloc::collections::BTreeMap;
use iced_x86::{InstructionInfoFactory, Mnemonic, OpAccess, Register, UsedRegister};
use ppin_api::compiler::CodeBytes;

/// What a call of a function destroys, and what it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// General registers, by a bit for each; those only that a function may change.
    pub registers: u16,
    /// xmm registers, by a bit for each.
    pub vectors: u16,
    /// Floating-point arithmetic, which looks at MXCSR and changes it.
    pub floats: bool,
    /// String instructions, for which DF must be 0.
    pub strings: bool,
}

impl Effects {
    /// Everything that the ABI allows.
    pub const ALL: Self = Self {
        registers: CALLER_SAVED,
        vectors: u16::MAX,
        floats: true,
        strings: true,
    };

    fn or(self, other: Self) -> Self {
        Self {
            registers: self.registers | other.registers,
            vectors: self.vectors | other.vectors,
            floats: self.floats || other.floats,
            strings: self.strings || other.strings,
        }
    }
}

/// Functions that have been looked at.
pub struct Survey<'a> {
    code: &'a dyn CodeBytes,
    /// `None` while the function is being looked at.
    effects: BTreeMap<u64, Option<Effects>>,
    /// Whether functions return.
    returning: BTreeMap<u64, bool>,
    /// Functions that may yet be decoded.
    budget: u32,
}

/// Callees of callees that are looked at.
const DEPTH: u32 = 12;
/// Functions that one survey decodes.
const BUDGET: u32 = 300;

impl<'a> Survey<'a> {
    /// A survey of functions in `code`.
    #[must_use]
    pub const fn new(code: &'a dyn CodeBytes) -> Self {
        Self {
            code,
            effects: BTreeMap::new(),
            returning: BTreeMap::new(),
            budget: BUDGET,
        }
    }

    /// What a call of the function at `start` destroys.
    pub fn effects(&mut self, start: u64) -> Effects {
        self.effects_at(start, DEPTH)
    }

    fn effects_at(&mut self, start: u64, depth: u32) -> Effects {
        match self.effects.get(&start) {
            Some(Some(effects)) => return *effects,
            // What a recursive call adds, the call that is being looked at finds itself.
            Some(None) => return Effects::default(),
            None => {}
        }
        if depth == 0 || !self.may_decode() {
            return Effects::ALL;
        }
        self.effects.insert(start, None);
        let function = self.function(start, depth);
        let mut effects = Effects::default();
        if function.incomplete {
            effects = Effects::ALL;
        } else {
            for node in function.returning().values() {
                effects = effects.or(self.of(node, depth));
            }
        }
        effects.registers &= CALLER_SAVED;
        self.effects.insert(start, Some(effects));
        effects
    }

    fn of(&mut self, node: &Node, depth: u32) -> Effects {
        let called = match node.call {
            None => Effects::default(),
            Some(Callee::Unknown) => Effects::ALL,
            Some(Callee::At(target)) => self.effects_at(target, depth - 1),
        };
        called.or(own(node))
    }

    /// Whether the function at `start` returns, as far as anybody can tell.
    pub(crate) fn returns(&mut self, start: u64, depth: u32) -> bool {
        if let Some(returns) = self.returning.get(&start) {
            return *returns;
        }
        if depth == 0 || !self.may_decode() {
            return true;
        }
        // One that only calls itself does not return.
        self.returning.insert(start, false);
        let function = self.function(start, depth);
        let returns = function.incomplete || function.nodes.values().any(|node| node.returns);
        self.returning.insert(start, returns);
        returns
    }

    fn function(&mut self, start: u64, depth: u32) -> Function {
        let code = self.code;
        Function::decode(code, start, |callee| !self.returns(callee, depth - 1))
    }

    fn may_decode(&mut self) -> bool {
        self.budget = self.budget.saturating_sub(1);
        self.budget != 0
    }
}

/// What an instruction itself destroys.
fn own(node: &Node) -> Effects {
    let mut effects = Effects {
        strings: node.ins.is_string_instruction(),
        ..Effects::default()
    };
    let mut factory = InstructionInfoFactory::new();
    let mut vector = false;
    for used in factory.info(&node.ins).used_registers() {
        let full = used.register().full_register();
        if full.is_gpr64() && writes(used) {
            effects.registers |= 1 << full.number();
        } else if full.is_vector_register() {
            vector = true;
            if writes(used) {
                effects.vectors |= vector_bit(full);
            }
        } else if !full.is_gpr64() && !matches!(full, Register::RIP) && !full.is_segment_register()
        {
            return Effects::ALL;
        }
    }
    effects.floats = vector && !is_integer(node.ins.mnemonic());
    effects
}

fn vector_bit(register: Register) -> u16 {
    1_u16
        .checked_shl(register.number() as u32)
        .unwrap_or(u16::MAX)
}

fn writes(used: &UsedRegister) -> bool {
    !matches!(
        used.access(),
        OpAccess::None | OpAccess::NoMemAccess | OpAccess::Read | OpAccess::CondRead
    )
}

/// Whether a vector instruction only moves bits or computes with integers. Mnemonics are in the order
/// of the alphabet. (Their names would be a large table of pointers.)
fn is_integer(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    const RANGES: [(Mnemonic, Mnemonic); 9] = [
        (M::Andnpd, M::Andnps),
        (M::Andpd, M::Andps),
        (M::Lddqu, M::Lddqu),
        (M::Mov, M::Movzx),
        (M::Orpd, M::Orps),
        (M::Pabsb, M::Pxor),
        (M::Shufpd, M::Shufps),
        (M::Unpckhpd, M::Unpcklps),
        (M::Xorpd, M::Xorps),
    ];
    let mut ranges = RANGES.iter();
    ranges.any(|(first, last)| (*first..=*last).contains(&mnemonic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::Code as Bytes;
    use iced_x86::{Code, CpuidFeature};

    #[test]
    fn integers_are_told_by_their_names() {
        const PREFIXES: [&str; 9] = [
            "Mov", "P", "Xorp", "Andp", "Andnp", "Orp", "Unpck", "Shufp", "Lddqu",
        ];
        // Those of one old maker were added behind the others.
        let cyrix = CpuidFeature::CYRIX_EMMI;
        let is_vector = |code: &Code| {
            if code.cpuid_features().contains(&cyrix) {
                return false;
            }
            let mut kinds = code.op_code().op_kinds().iter();
            kinds.any(|kind| format!("{kind:?}").replace("imm", "").contains("mm"))
        };
        for code in Code::values().filter(is_vector) {
            let name = format!("{:?}", code.mnemonic());
            let integer = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            assert_eq!(is_integer(code.mnemonic()), integer, "{name}");
        }
    }

    fn of(bytes: &[u8]) -> Effects {
        Survey::new(&Bytes(0x1000, bytes.to_vec())).effects(0x1000)
    }

    const RET: u8 = 0xc3;

    #[test]
    fn an_empty_function_destroys_nothing() {
        assert_eq!(of(&[RET]), Effects::default());
    }

    #[test]
    fn registers_that_are_written_and_saved_ones_are_told_apart() {
        // push rbx; mov rbx, rdi; lea rax, [rbx + rsi]; pop rbx; ret
        let effects = of(&[0x53, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x04, 0x33, 0x5b, RET]);
        assert_eq!(effects.registers, 1);
    }

    #[test]
    fn a_panic_destroys_nothing() {
        // cmp rsi, 8; jae +8; inc qword [rdi + rsi * 8]; ret;
        // mov edx, 1; call to a loop; loop: jmp loop
        let code = [
            0x48, 0x83, 0xfe, 8, 0x73, 5, 0x48, 0xff, 0x04, 0xf7, RET, 0xba, 1, 0, 0, 0, 0xe8, 0,
            0, 0, 0, 0xeb, 0xfe,
        ];
        assert_eq!(of(&code), Effects::default());
    }

    #[test]
    fn callees_count_and_unknown_ones_destroy_all() {
        // call +1; ret; mov r10, rax; ret
        let effects = of(&[0xe8, 1, 0, 0, 0, RET, 0x49, 0x89, 0xc2, RET]);
        assert_eq!(effects.registers, 1 << 10);
        // call rax; ret
        assert_eq!(of(&[0xff, 0xd0, RET]), Effects::ALL);
        // A function that goes on where nothing can be read.
        assert_eq!(of(&[0x90]), Effects::ALL);
    }

    #[test]
    fn callees_are_found_by_way_of_a_word() {
        // call or jmp [rip + 5]; ret; mov r10, rax; ret; the word
        for opcode in [0x15, 0x25] {
            let mut code = vec![0xff, opcode, 5, 0, 0, 0, RET, 0x49, 0x89, 0xc2, RET];
            code.extend(0x1007_u64.to_le_bytes());
            let effects = of(&code);
            assert_eq!(effects.registers, 1 << 10);
            assert!(!effects.floats);
            // A word that is not there.
            code.pop();
            assert_eq!(of(&code), Effects::ALL);
        }
    }

    #[test]
    fn recursion_ends() {
        // test edi, edi; je +7; mov r9d, eax; call self; ret
        let code = [
            0x85, 0xff, 0x74, 8, 0x41, 0x89, 0xc1, 0xe8, 0xf4, 0xff, 0xff, 0xff, RET,
        ];
        assert_eq!(of(&code).registers, 1 << 9);
    }

    #[test]
    fn vectors_arithmetic_and_strings() {
        // paddq xmm1, xmm2; ret
        let integers = of(&[0x66, 0x0f, 0xd4, 0xca, RET]);
        assert_eq!((integers.vectors, integers.floats), (2, false));
        // addsd xmm3, xmm2; ret
        let floats = of(&[0xf2, 0x0f, 0x58, 0xda, RET]);
        assert_eq!((floats.vectors, floats.floats), (8, true));
        // rep stosq; ret
        let strings = of(&[0xf3, 0x48, 0xab, RET]);
        assert!(strings.strings);
        assert_eq!(strings.registers, 1 << 7 | 1 << 1);
    }
}
