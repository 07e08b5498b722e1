//! Which flags are alive where a branch leads, out of the trace.
//!
//! The code there is looked at, as far as the trace may see: what decides becomes a part of
//! what the trace depends on, so that a change of it is noticed.

use super::flags::Fate;
use core::ops::ControlFlow;
use ppin_abi::addr::AppPc;
use ppin_abi::optimize::Optimize;
use ppin_decode::InsReader;

/// So many instructions are looked at behind one branch.
const MOST: usize = 6;

/// Whether the app's code at `pc`, which begins with `bytes`, certainly overwrites all arithmetic flags before
/// it uses one. If a tool counts, they may be lost where a branch leads there.
#[must_use]
pub fn flags_die(pc: AppPc, bytes: &[u8]) -> bool {
    Beyond::new(pc, bytes, Optimize::ALL).flags_die(pc)
}

/// The code behind the head of a trace.
pub struct Beyond<'a> {
    head: AppPc,
    bytes: &'a [u8],
    optimize: Optimize,
    looked: usize,
}

impl<'a> Beyond<'a> {
    /// The app's `bytes` from `head` on.
    pub const fn new(head: AppPc, bytes: &'a [u8], optimize: Optimize) -> Self {
        Self {
            head,
            bytes,
            optimize,
            looked: 0,
        }
    }

    /// Bytes from the head on that answers depend on.
    pub const fn looked(&self) -> u32 {
        self.looked as u32
    }

    /// Whether the code at `target` certainly overwrites all arithmetic flags before it uses one.
    pub fn flags_die(&mut self, target: AppPc) -> bool {
        let at = target.0.checked_sub(self.head.0);
        let Some(at) = at.and_then(|at| usize::try_from(at).ok()) else {
            return false;
        };
        let end = self.bytes.get(at..).and_then(|code| {
            let mut reader = InsReader::new(target, code);
            let ins = core::iter::from_fn(|| reader.read().ok());
            let mut fate = Fate::new(self.optimize);
            let decided = ins.take(MOST).try_for_each(|ins| fate.pass(&ins));
            match decided {
                ControlFlow::Break(Some(end)) => Some(at + end as usize),
                _ => None,
            }
        });
        self.looked = self.looked.max(end.unwrap_or_default());
        end.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: AppPc = AppPc(0x1000);

    /// Whether flags die at `at` in `code`, and how far was looked.
    fn look(code: &[u8], at: i64) -> (bool, u32) {
        let mut beyond = Beyond::new(HEAD, code, Optimize::ALL);
        let dead = beyond.flags_die(AppPc(HEAD.0.wrapping_add_signed(at)));
        (dead, beyond.looked())
    }

    #[test]
    fn a_comparison_ends_them() {
        // nop; mov eax, ebx; cmp eax, ecx; je
        let code = [0x90, 0x89, 0xd8, 0x39, 0xc8, 0x74, 0x00];
        assert_eq!(look(&code, 1), (true, 5));
        assert_eq!(look(&code, 3), (true, 5));
        assert_eq!(look(&code, 5), (false, 0), "a branch uses them");
    }

    #[test]
    fn what_uses_one_first_keeps_all_alive() {
        // sbb eax, eax; cmp eax, ecx
        assert_eq!(look(&[0x19, 0xc0, 0x39, 0xc8], 0), (false, 0));
        // inc eax leaves the carry, which setb uses
        assert_eq!(look(&[0xff, 0xc0, 0x0f, 0x92, 0xc0], 0), (false, 0));
        // inc eax; cmp eax, ecx
        assert_eq!(look(&[0xff, 0xc0, 0x39, 0xc8], 0), (true, 4));
    }

    #[test]
    fn other_ways_out_and_the_end_of_the_bytes_leave_it_open() {
        assert_eq!(look(&[0xc3, 0x39, 0xc8], 0), (false, 0), "ret");
        assert_eq!(look(&[0x90, 0x39], 0), (false, 0), "cut off");
        assert_eq!(look(&[0x39, 0xc8], 2), (false, 0), "at the end");
        assert_eq!(look(&[0x39, 0xc8], 7), (false, 0), "behind it");
        assert_eq!(look(&[0x39, 0xc8], -1), (false, 0), "before the head");
        let far = [[0x90; MOST].as_slice(), &[0x39, 0xc8]].concat();
        assert_eq!(look(&far, 0), (false, 0), "too far");
        assert_eq!(look(&far, 1), (true, MOST as u32 + 2));
    }

    #[test]
    fn the_farthest_look_counts() {
        // cmp; nop; cmp; ret
        let code = [0x39, 0xc8, 0x90, 0x39, 0xc8, 0xc3];
        let mut beyond = Beyond::new(HEAD, &code, Optimize::ALL);
        assert!(beyond.flags_die(AppPc(HEAD.0 + 2)));
        assert!(beyond.flags_die(HEAD));
        assert!(!beyond.flags_die(AppPc(HEAD.0 + 5)));
        assert_eq!(beyond.looked(), 5);
    }
}
