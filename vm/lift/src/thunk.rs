//! Code that calls a routine and keeps what the routine destroys, but for its arguments.
//!
//! ```text
//! push rax ...                 registers
//! sub  rsp, n                  the stack is aligned
//! movups [rsp + 16 i], xmm ... vectors
//! stmxcsr [rsp + m]; ldmxcsr [default]
//! pushfq; pushfq; cld
//! call [routine]
//! mov  gs:[cell], rax          its result, widened
//! test byte [rsp + 1], 4; jz +1; std; lea rsp, [rsp + 16]
//! ldmxcsr ...; movups ...; add rsp, n; pop ...; ret
//! ```
//! It may change arithmetic flags. Lines that are not needed are left out; a routine that destroys
//! nothing else needs no thunk.

use crate::effects::Effects;
use crate::registers::ARGUMENTS;
use alloc::vec::Vec;
use ppin_api::Outcome;

/// MXCSR as programs find it.
const MXCSR: u32 = 0x1f80;

/// The thunk for a routine at `routine` with `arguments` arguments. What it returns goes to the cell
/// of `result`, by its displacement from `gs`. `None`: no thunk is needed. It can lie anywhere.
#[must_use]
pub fn thunk(
    effects: Effects,
    arguments: usize,
    result: (Outcome, u32),
    routine: u64,
) -> Option<Vec<u8>> {
    let given = ARGUMENTS[..arguments.min(ARGUMENTS.len())].iter();
    let registers = given.fold(effects.registers, |set, number| set & !(1 << number));
    let rax = if result.0 == Outcome::None { 0 } else { RAX };
    let kept = Effects {
        registers: registers | rax,
        ..effects
    };
    (kept != Effects::default()).then(|| Thunk::new(kept, result).code(routine))
}

/// rax, where routines leave their result.
const RAX: u16 = 1;

struct Thunk {
    kept: Effects,
    /// What it returns, and the cell for that.
    result: (Outcome, u32),
    /// Bytes of the stack below the registers.
    room: u32,
    code: Vec<u8>,
    /// Fields that point at the words behind the code: MXCSR, and the routine.
    to_mxcsr: Option<usize>,
}

impl Thunk {
    fn new(kept: Effects, result: (Outcome, u32)) -> Self {
        let vectors = 16 * kept.vectors.count_ones();
        let floats = if kept.floats { 16 } else { 0 };
        // Behind the return address and the registers, calls find the stack aligned.
        let pushed = 8 * (1 + kept.registers.count_ones());
        Self {
            kept,
            result,
            room: vectors + floats + (16 - pushed % 16) % 16,
            code: Vec::new(),
            to_mxcsr: None,
        }
    }

    fn code(mut self, routine: u64) -> Vec<u8> {
        for register in bits(self.kept.registers) {
            self.push_or_pop(0x50, register);
        }
        self.adjust(0xec);
        self.vectors(0x11);
        if self.kept.floats {
            self.on_stack(&[0x0f, 0xae], 3, self.mxcsr_at());
            self.code.extend([0x0f, 0xae, 0x15]);
            self.to_mxcsr = Some(self.field());
        }
        if self.kept.strings {
            self.code.extend([0x9c, 0x9c, 0xfc]);
        }
        self.code.extend([0xff, 0x15]);
        let to_routine = self.field();
        self.result();
        if self.kept.strings {
            self.code.extend([0xf6, 0x44, 0x24, 1, 4, 0x74, 1, 0xfd]);
            self.code.extend([0x48, 0x8d, 0x64, 0x24, 16]);
        }
        if self.kept.floats {
            self.on_stack(&[0x0f, 0xae], 2, self.mxcsr_at());
        }
        self.vectors(0x10);
        self.adjust(0xc4);
        for register in bits(self.kept.registers).rev() {
            self.push_or_pop(0x58, register);
        }
        self.code.push(0xc3);
        self.words(routine, to_routine)
    }

    /// Stores the result, as a word.
    fn result(&mut self) {
        let widen: &[u8] = match self.result.0 {
            Outcome::None => return,
            Outcome::Word => &[],
            Outcome::Half => &[0x89, 0xc0],
            Outcome::Bool => &[0x0f, 0xb6, 0xc0],
        };
        self.code.extend(widen);
        self.code.extend([0x65, 0x48, 0x89, 0x04, 0x25]);
        self.code.extend(self.result.1.to_le_bytes());
    }

    fn words(mut self, routine: u64, to_routine: usize) -> Vec<u8> {
        self.code.resize(self.code.len().next_multiple_of(8), 0xcc);
        self.point(to_routine);
        self.code.extend(routine.to_le_bytes());
        if let Some(field) = self.to_mxcsr {
            self.point(field);
            self.code.extend(u64::from(MXCSR).to_le_bytes());
        }
        self.code
    }

    fn push_or_pop(&mut self, opcode: u8, register: u8) {
        if register >= 8 {
            self.code.push(0x41);
        }
        self.code.push(opcode | register & 7);
    }

    /// `sub rsp, room` (0xec) or `add rsp, room` (0xc4)
    fn adjust(&mut self, operation: u8) {
        if self.room != 0 {
            self.code.extend([0x48, 0x81, operation]);
            self.code.extend(self.room.to_le_bytes());
        }
    }

    /// Stores (0x11) or loads (0x10) vectors.
    fn vectors(&mut self, opcode: u8) {
        for (place, register) in bits(self.kept.vectors).enumerate() {
            if register >= 8 {
                self.code.push(0x44);
            }
            self.on_stack(&[0x0f, opcode], register & 7, 16 * place as u32);
        }
    }

    /// Where MXCSR is kept, behind the vectors.
    fn mxcsr_at(&self) -> u32 {
        16 * self.kept.vectors.count_ones()
    }

    /// `opcode register, [rsp + at]`
    fn on_stack(&mut self, opcode: &[u8], register: u8, at: u32) {
        self.code.extend(opcode);
        self.code.extend([0x84 | register << 3, 0x24]);
        self.code.extend(at.to_le_bytes());
    }

    fn field(&mut self) -> usize {
        self.code.extend([0; 4]);
        self.code.len() - 4
    }

    /// Lets `field` point here.
    fn point(&mut self, field: usize) {
        let distance = (self.code.len() - field - 4) as u32;
        self.code[field..field + 4].copy_from_slice(&distance.to_le_bytes());
    }
}

fn bits(mask: u16) -> impl DoubleEndedIterator<Item = u8> {
    (0..16).filter(move |bit| mask & 1 << bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, FastFormatter};

    const NO_RESULT: (Outcome, u32) = (Outcome::None, 0);

    fn listing(code: &[u8]) -> String {
        let mut lines = String::new();
        let mut formatter = FastFormatter::new();
        for ins in Decoder::with_ip(64, code, 0, DecoderOptions::NONE).iter() {
            let mut line = String::new();
            formatter.format(&ins, &mut line);
            lines.push_str(&line);
            lines.push('\n');
            if line == "ret" {
                break;
            }
        }
        lines
    }

    #[test]
    fn arguments_are_not_kept() {
        let effects = Effects {
            registers: 1 << 7 | 1 << 6,
            ..Effects::default()
        };
        assert_eq!(thunk(effects, 2, NO_RESULT, 0x1234), None);
        let code = thunk(effects, 1, NO_RESULT, 0x1234).unwrap();
        assert_eq!(
            listing(&code),
            "push rsi\ncall qword ptr [10h]\npop rsi\nret\n"
        );
        assert_eq!(code[0x10..], 0x1234_u64.to_le_bytes());
    }

    #[test]
    fn a_result_is_stored_as_a_word_and_rax_is_kept() {
        let cell = 0x20c58;
        for (outcome, widen) in [
            (Outcome::Word, ""),
            (Outcome::Half, "mov eax,eax\n"),
            (Outcome::Bool, "movzx eax,al\n"),
        ] {
            let code = thunk(Effects::default(), 1, (outcome, cell), 7).unwrap();
            let store = format!("mov gs:[{cell:X}h],rax\npop rax\nret\n");
            let text = listing(&code);
            assert!(text.starts_with("push rax\ncall "), "{text}");
            assert!(text.ends_with(&format!("{widen}{store}")), "{text}");
            assert_eq!(text.lines().count(), 5 + widen.lines().count());
        }
    }

    #[test]
    fn everything_is_kept_with_the_stack_aligned() {
        let code = thunk(Effects::ALL, 0, NO_RESULT, 1).unwrap();
        let text = listing(&code);
        assert!(
            text.contains("push r11\nsub rsp,110h\nmovups [rsp],xmm0\n"),
            "{text}"
        );
        assert!(text.contains("stmxcsr [rsp+100h]\nldmxcsr "), "{text}");
        assert!(
            text.contains("pushfq\npushfq\ncld\ncall qword ptr "),
            "{text}"
        );
        assert!(text.contains("test byte ptr [rsp+1h],4h\nje "), "{text}");
        assert!(text.ends_with("add rsp,110h\npop r11\npop r10\npop r9\npop r8\npop rdi\npop rsi\npop rdx\npop rcx\npop rax\nret\n"), "{text}");
        assert_eq!(code.len() % 8, 0);
        assert_eq!(code[code.len() - 8..], u64::from(MXCSR).to_le_bytes());
    }
}
