//! Which arithmetic flags the app may still look at.
//!
//! Local to one trace: at every way out of it all flags live. Where none lives,
//! inserted code may destroy them. Where the source is compared with memory, other
//! instructions may follow than those that were translated: all flags live there, too.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::{ControlFlow, Range};
use ppin_abi::optimize::Optimize;
use ppin_decode::{Ins, effects};

/// For each instruction, the flags ([`effects::ARITHMETIC`]) alive before it. Behind each
/// of the `stretches`, all are.
pub fn live_flags(ins: &[Ins], stretches: &[Range<usize>], optimize: Optimize) -> Vec<u32> {
    live_where(ins, stretches, optimize, |_| false)
}

/// The same where the app may be led away before the instructions that `leaves` holds for.
pub fn live_where(
    ins: &[Ins],
    stretches: &[Range<usize>],
    optimize: Optimize,
    leaves: impl Fn(usize) -> bool,
) -> Vec<u32> {
    let mut before = vec![effects::ARITHMETIC; ins.len()];
    let mut live = effects::ARITHMETIC;
    let mut ends = stretches.iter().map(|s| s.end).rev().peekable();
    for (index, (ins, before)) in ins.iter().zip(&mut before).enumerate().rev() {
        if ends.next_if(|end| *end == index + 1).is_some() {
            live = effects::ARITHMETIC;
        }
        live = if ins.is_nothing() {
            live
        } else if ins.kind.is_plain() {
            live & !effects::flags_killed(&ins.raw, optimize) | effects::flags_read(&ins.raw)
        } else {
            effects::ARITHMETIC
        };
        if leaves(index) {
            live = effects::ARITHMETIC;
        }
        *before = live;
    }
    before
}

/// What becomes of the flags in code that is passed forward.
pub struct Fate {
    /// Those whose values may still be used.
    alive: u32,
    optimize: Optimize,
}

impl Fate {
    /// All are alive.
    pub const fn new(optimize: Optimize) -> Self {
        Self {
            alive: effects::ARITHMETIC,
            optimize,
        }
    }

    /// Goes past `ins`; breaks off when it is decided: with the offset behind `ins` if no flag is
    /// alive any more, with none if one is used.
    pub fn pass(&mut self, ins: &Ins) -> ControlFlow<Option<u32>> {
        if !ins.kind.is_plain() || effects::flags_read(&ins.raw) & self.alive != 0 {
            return ControlFlow::Break(None);
        }
        self.alive &= !effects::flags_killed(&ins.raw, self.optimize);
        if self.alive == 0 {
            return ControlFlow::Break(Some(ins.end()));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::addr::AppPc;
    use ppin_decode::InsReader;

    fn dead_before(bytes: &[u8]) -> Vec<bool> {
        dead_with(bytes, Optimize::NONE)
    }

    fn dead_with(bytes: &[u8], optimize: Optimize) -> Vec<bool> {
        let mut reader = InsReader::new(AppPc(0x1000), bytes);
        let ins: Vec<_> = core::iter::from_fn(|| reader.read().ok()).collect();
        live_flags(&ins, &[], optimize)
            .iter()
            .map(|&live| live == 0)
            .collect()
    }

    #[test]
    fn a_comparison_kills_all_flags_and_its_branch_reads_them() {
        // mov eax, ebx; cmp eax, ecx; je
        assert_eq!(
            dead_before(&[0x89, 0xd8, 0x39, 0xc8, 0x74, 0x00]),
            [true, true, false]
        );
    }

    #[test]
    fn undefined_flags_are_not_killed() {
        // test eax, eax leaves AF undefined
        assert_eq!(dead_before(&[0x85, 0xc0]), [false]);
    }

    #[test]
    fn logic_instructions_write_the_undefined_one_where_that_is_known() {
        // test eax, eax; xor eax, eax; and eax, 1; or al, 1
        for code in [
            &[0x85, 0xc0][..],
            &[0x31, 0xc0],
            &[0x83, 0xe0, 1],
            &[0x0c, 1],
        ] {
            assert_eq!(dead_with(code, Optimize::FLAGS), [true]);
            assert_eq!(
                dead_with(code, Optimize::ALL.without(Optimize::FLAGS)),
                [false]
            );
        }
        // bsf eax, ecx; imul eax, ecx; shl eax, 2
        for code in [
            &[0x0f, 0xbc, 0xc1][..],
            &[0x0f, 0xaf, 0xc1],
            &[0xc1, 0xe0, 2],
        ] {
            assert_eq!(dead_with(code, Optimize::FLAGS), [false]);
        }
    }

    #[test]
    fn inc_keeps_the_carry() {
        assert_eq!(dead_before(&[0xff, 0xc0]), [false]);
    }

    #[test]
    fn nothing_is_dead_before_what_may_change_no_flag() {
        // shl eax, cl and repe cmpsb with a count of 0
        assert_eq!(dead_before(&[0xd3, 0xe0]), [false]);
        assert_eq!(dead_before(&[0xf3, 0xa6]), [false]);
        // cmpsb alone compares for certain
        assert_eq!(dead_before(&[0xa6]), [true]);
    }

    #[test]
    fn a_reader_in_between_keeps_them_alive() {
        // adc eax, eax; cmp eax, eax
        assert_eq!(dead_before(&[0x11, 0xc0, 0x39, 0xc0]), [false, true]);
        // pushfq; cmp
        assert_eq!(dead_before(&[0x9c, 0x39, 0xc0]), [false, true]);
    }

    #[test]
    fn all_flags_live_behind_a_stretch() {
        // nop; cmp eax, ecx
        let code = [0x90, 0x39, 0xc8];
        let mut reader = InsReader::new(AppPc(0x1000), &code);
        let ins: Vec<_> = core::iter::from_fn(|| reader.read().ok()).collect();
        let dead = |stretches: &[Range<usize>]| live_flags(&ins, stretches, Optimize::ALL)[0] == 0;
        assert!(dead(&[]));
        assert!(dead(core::slice::from_ref(&(0..2))));
        assert!(!dead(&[0..1, 1..2]));
    }

    #[test]
    fn all_flags_live_where_the_app_may_be_led_away() {
        // nop; nop; cmp eax, ecx
        let mut reader = InsReader::new(AppPc(0x1000), &[0x90, 0x90, 0x39, 0xc8]);
        let ins: Vec<_> = core::iter::from_fn(|| reader.read().ok()).collect();
        let live = live_where(&ins, &[], Optimize::ALL, |index| index == 1);
        let dead: Vec<bool> = live.iter().map(|live| *live == 0).collect();
        assert_eq!(dead, [false, false, true]);
    }

    #[test]
    fn all_flags_live_at_the_end() {
        assert_eq!(dead_before(&[0x90]), [false]);
    }
}
