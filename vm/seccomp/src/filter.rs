//! One filter.

use crate::Call;
use crate::insn::Insn;
use crate::op::{MEMORY, Op, Source};
use alloc::vec::Vec;

/// Longest program that the kernel takes (`BPF_MAXINSNS`).
pub const MAX_LEN: usize = 4096;

/// A checked program: every jump leads forward and inside, and the last instruction
/// returns, so that it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Vec<Op>);

impl Filter {
    /// The filter, if the kernel accepts it.
    #[must_use]
    pub fn new(program: &[Insn]) -> Option<Self> {
        if program.len() > MAX_LEN {
            return None;
        }
        let decode = |(at, insn): (usize, &Insn)| Op::decode(*insn, at, program.len());
        let ops: Vec<Op> = program
            .iter()
            .enumerate()
            .map(decode)
            .collect::<Option<_>>()?;
        let returns = matches!(ops.last()?, Op::Return(_) | Op::ReturnAccumulator);
        returns.then_some(Self(ops))
    }

    /// The filter's answer for `call`.
    #[must_use]
    pub fn run(&self, call: &Call) -> u32 {
        let mut state = State::default();
        let mut at = 0;
        loop {
            match state.step(self.0[at], at, call) {
                Next::At(next) => at = next,
                Next::Return(value) => return value,
            }
        }
    }
}

enum Next {
    At(usize),
    Return(u32),
}

#[derive(Default)]
struct State {
    accumulator: u32,
    index: u32,
    memory: [u32; MEMORY],
}

impl State {
    fn value(&self, source: Source) -> u32 {
        match source {
            Source::Constant(k) => k,
            Source::Index => self.index,
        }
    }

    fn step(&mut self, op: Op, at: usize, call: &Call) -> Next {
        /// Answer after a division by zero: end the thread.
        const KILL: u32 = 0;
        match op {
            Op::Return(value) => return Next::Return(value),
            Op::ReturnAccumulator => return Next::Return(self.accumulator),
            Op::Jump(to) => return Next::At(to),
            Op::Branch(test, source, yes, no) => {
                let holds = test.holds(self.accumulator, self.value(source));
                return Next::At(if holds { yes } else { no });
            }
            Op::Compute(alu, source) => match alu.apply(self.accumulator, self.value(source)) {
                Some(value) => self.accumulator = value,
                None => return Next::Return(KILL),
            },
            Op::Negate => self.accumulator = self.accumulator.wrapping_neg(),
            Op::LoadCall(offset) => self.accumulator = call.word(offset).unwrap_or_default(),
            Op::Load(value) => self.accumulator = value,
            Op::LoadIndex(value) => self.index = value,
            Op::LoadMemory(cell) => self.accumulator = self.memory[cell],
            Op::LoadIndexMemory(cell) => self.index = self.memory[cell],
            Op::Store(cell) => self.memory[cell] = self.accumulator,
            Op::StoreIndex(cell) => self.memory[cell] = self.index,
            Op::ToIndex => self.index = self.accumulator,
            Op::FromIndex => self.accumulator = self.index,
        }
        Next::At(at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Filter;
    use crate::Insn;
    use crate::{ARCH_X86_64, Call};
    use proptest::prelude::*;

    const fn insn(code: u16, k: u32) -> Insn {
        Insn {
            code,
            jt: 0,
            jf: 0,
            k,
        }
    }

    const fn branch(code: u16, k: u32, jt: u8, jf: u8) -> Insn {
        Insn { code, jt, jf, k }
    }

    fn call(nr: u32, args: [u64; 6]) -> Call {
        Call {
            nr,
            arch: ARCH_X86_64,
            ip: 0,
            args,
        }
    }

    #[test]
    fn a_list_of_numbers_is_searched() {
        let program = [
            insn(0x20, 0),
            branch(0x15, 1, 1, 0),
            insn(0x06, 7),
            insn(0x06, 8),
        ];
        let filter = Filter::new(&program).unwrap();
        assert_eq!(filter.run(&call(1, [0; 6])), 8);
        assert_eq!(filter.run(&call(2, [0; 6])), 7);
    }

    #[test]
    fn arguments_are_masked_and_shifted() {
        // High half of the third argument, and 6, by way of memory and index.
        let program = [
            insn(0x20, 36),
            insn(0x54, 6),
            insn(0x02, 15),
            insn(0x61, 15),
            insn(0x00, 1),
            insn(0x6c, 0),
            insn(0x16, 0),
        ];
        let filter = Filter::new(&program).unwrap();
        let args = [0, 0, 0xf_0000_0000, 0, 0, 0];
        assert_eq!(filter.run(&call(0, args)), 64);
    }

    #[test]
    fn division_by_zero_kills() {
        let program = [insn(0x00, 5), insn(0x3c, 0), insn(0x06, 9)];
        assert_eq!(Filter::new(&program).unwrap().run(&Call::default()), 0);
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        let refused: [&[Insn]; 9] = [
            &[],
            &[insn(0x20, 0)],
            &[insn(0x20, 2), insn(0x06, 0)],
            &[insn(0x20, 64), insn(0x06, 0)],
            &[insn(0x28, 0), insn(0x06, 0)],
            &[insn(0x05, 1), insn(0x06, 0)],
            &[insn(0x02, 16), insn(0x06, 0)],
            &[insn(0x34, 0), insn(0x06, 0)],
            &[insn(0x64, 32), insn(0x06, 0)],
        ];
        for program in refused {
            assert_eq!(Filter::new(program), None, "{program:?}");
        }
    }

    /// The same in the most direct form, step by step with the remaining program.
    fn naive(program: &[Insn], call: &Call) -> u32 {
        let (mut a, mut x, mut memory, mut pc) = (0u32, 0u32, [0u32; 16], 0usize);
        loop {
            let Insn { code, jt, jf, k } = program[pc];
            pc += 1;
            let b = if code & 8 == 0 { k } else { x };
            let skip = |yes: bool| usize::from(if yes { jt } else { jf });
            match code {
                0x20 => a = call.word(k).unwrap(),
                0x80 => a = 64,
                0x81 => x = 64,
                0x00 => a = k,
                0x01 => x = k,
                0x60 => a = memory[k as usize],
                0x61 => x = memory[k as usize],
                0x02 => memory[k as usize] = a,
                0x03 => memory[k as usize] = x,
                0x07 => x = a,
                0x87 => a = x,
                0x84 => a = 0u32.wrapping_sub(a),
                0x04 | 0x0c => a = a.wrapping_add(b),
                0x14 | 0x1c => a = a.wrapping_sub(b),
                0x24 | 0x2c => a = a.wrapping_mul(b),
                0x34 | 0x3c if b == 0 => return 0,
                0x34 | 0x3c => a /= b,
                0x44 | 0x4c => a |= b,
                0x54 | 0x5c => a &= b,
                0x64 | 0x6c => a <<= b & 31,
                0x74 | 0x7c => a >>= b & 31,
                0xa4 | 0xac => a ^= b,
                0x05 => pc += k as usize,
                0x15 | 0x1d => pc += skip(a == b),
                0x25 | 0x2d => pc += skip(a > b),
                0x35 | 0x3d => pc += skip(a >= b),
                0x45 | 0x4d => pc += skip(a & b != 0),
                0x06 => return k,
                0x16 => return a,
                _ => unreachable!(),
            }
        }
    }

    const CODES: &[u16] = &[
        0x20, 0x80, 0x81, 0x00, 0x01, 0x60, 0x61, 0x02, 0x03, 0x07, 0x87, 0x84, 0x04, 0x0c, 0x14,
        0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64, 0x6c, 0x74, 0x7c, 0xa4, 0xac,
        0x05, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d, 0x06, 0x16,
    ];

    fn any_insn() -> impl Strategy<Value = Insn> {
        let k = prop_oneof![0..64u32, any::<u32>()];
        let code = prop_oneof![20 => prop::sample::select(CODES), 1 => any::<u16>()];
        (code, 0..4u8, 0..4u8, k).prop_map(|(code, jt, jf, k)| Insn { code, jt, jf, k })
    }

    proptest! {
        /// Every accepted program ends, and returns what a plain interpreter returns.
        #[test]
        fn accepted_programs_do_what_they_say(
            mut program in prop::collection::vec(any_insn(), 0..24),
            nr: u32, arch: u32, ip: u64, args: [u64; 6],
        ) {
            program.push(insn(0x16, 0));
            let call = Call { nr, arch, ip, args };
            if let Some(filter) = Filter::new(&program) {
                prop_assert_eq!(filter.run(&call), naive(&program, &call));
            }
        }
    }
}
