//! Returns that the return cache says nothing about (`ppin_abi::area::Area::returns`): they are
//! looked up as other indirect branches are. All others stay in emitted code
//! (`ppin_jit`'s `lower/ret.rs`). The flags stay as they are.

use super::disp;
use ppin_abi::area::{Area, Entry, RETURN_WORD, RETURNS_LEN};
use ppin_os::peek;

unsafe extern "C" {
    /// See [`ppin_abi::area::Entry::Unpaired`].
    pub fn ret_unpaired();
    /// See [`ppin_abi::area::Entry::ReturnedElsewhere`].
    pub fn returned_elsewhere();
    /// The address after the last instruction.
    pub fn ret_end();
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl ret_unpaired, returned_elsewhere, ret_end",
    ".hidden ret_unpaired", ".hidden returned_elsewhere", ".hidden ret_end",
    "ret_unpaired:",
    "lea rsp, [rdx + {word}]",      // as emitted code does behind a call
    "mov rdx, gs:[{rdx}]",
    "jmp gs:[{lookup}]",

    "returned_elsewhere:",
    "not rdx",
    "lea rcx, [rcx + rdx + 1]",     // the difference and what was subtracted
    "mov rdx, gs:[{rdx}]",
    "jmp gs:[{lookup}]",
    "ret_end:",
    rdx = const disp::SPILL_RDX,
    word = const RETURN_WORD,
    lookup = const Entry::IblRet.disp(),
);

fn address(routine: unsafe extern "C" fn()) -> u64 {
    routine as usize as u64
}

/// The CPU's return address, which lies at `rsp` below the app's, goes to the return cache, as where
/// translated calls lead to ([`ppin_abi::context::Context::CALLED`]); its place becomes 0. Returns the
/// app's stack pointer.
#[must_use]
pub fn called(area: &Area, rsp: u64) -> u64 {
    let address = peek::read_value(rsp).unwrap_or_else(unpaired);
    put(entry_of(area, rsp), address);
    put(rsp, 0);
    rsp.wrapping_add(8)
}

/// The word below `rsp`, where a callee begins, becomes 0 if the CPU's return address is still there.
pub fn clear_below(area: &Area, rsp: u64) {
    let below = rsp.wrapping_sub(8);
    let noted: Option<u64> = peek::read_value(entry_of(area, below));
    if noted.is_some() && peek::read_value(below) == noted {
        put(below, 0);
    }
}

/// Writes to memory that the thread itself has just written to, or that is its own.
fn put(at: u64, value: u64) {
    let _ = peek::write_value(at, &value);
}

/// The address of the entry for a return address above the word at address `below`. As a stack need not be
/// aligned, it may be that of no entry, but of parts of two.
fn entry_of(area: &Area, below: u64) -> u64 {
    area.returns_at + u64::from(below as u16)
}

fn unpaired() -> u64 {
    address(ret_unpaired)
}

/// Where a thread goes on that has come to `pc`, which is no code of ours, by a return: its stack pointer
/// `rsp` is behind what the cache says. Either the cache has no entry yet, or another thread has just
/// unmapped the unit, or it is of parts of two that do not belong together. The entry is filled.
#[must_use]
pub fn returned_to_nowhere(area: &Area, pc: u64, rsp: u64) -> Option<u64> {
    let entry = rsp.wrapping_sub(8);
    (of_cache(area, entry) && peek::read_value(entry) == Some(pc)).then(|| {
        put(entry, unpaired());
        unpaired()
    })
}

/// The same where the CPU refuses the return at `pc`, since such parts make no address, and `rsp` is at them:
/// where it goes on, and with which stack pointer.
#[must_use]
pub fn refused(area: &Area, pc: u64, rsp: u64) -> Option<(u64, u64)> {
    const RET: u8 = 0xc3;
    (of_cache(area, rsp) && peek::read_value(pc) == Some(RET)).then(|| {
        put(rsp, unpaired());
        (unpaired(), rsp.wrapping_add(8))
    })
}

fn of_cache(area: &Area, entry: u64) -> bool {
    entry.wrapping_sub(area.returns_at) < RETURNS_LEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::thread;

    #[test]
    fn the_cache_lies_at_a_multiple_of_its_length() {
        let area = &thread(11).area;
        assert_eq!(area.returns_at, area.returns.as_ptr() as u64);
        assert!(area.returns_at.is_multiple_of(RETURNS_LEN));
    }

    #[test]
    fn a_return_to_nowhere_is_looked_up_if_the_cache_says_so() {
        peek::never_fault();
        let area = &thread(12).area;
        for offset in [0, 8, 13, RETURNS_LEN - 8, RETURNS_LEN - 1] {
            let entry = area.returns_at + offset;
            put(entry, 0x1234);
            assert_eq!(returned_to_nowhere(area, 0x1235, entry + 8), None);
            assert_eq!(
                returned_to_nowhere(area, 0x1234, entry + 8),
                Some(unpaired())
            );
            assert_eq!(peek::read_value(entry), Some(unpaired()), "filled in");
        }
        let outside = [area.returns_at - 8, area.returns_at + RETURNS_LEN];
        assert_eq!(
            outside.map(|entry| returned_to_nowhere(area, 0, entry + 8)),
            [None; 2]
        );
    }

    #[test]
    fn a_return_that_is_refused_is_looked_up() {
        peek::never_fault();
        let area = &thread(13).area;
        let bytes = [0xc3_u8, 0x90];
        let code = bytes.as_ptr() as u64;
        let entry = area.returns_at + 3;
        assert_eq!(refused(area, code, entry), Some((unpaired(), entry + 8)));
        assert_eq!(refused(area, code + 1, entry), None, "no return");
        assert_eq!(refused(area, code, code), None, "not at the cache");
    }

    #[test]
    fn what_the_cpu_has_pushed_goes_to_the_cache() {
        peek::never_fault();
        let area = &thread(14).area;
        for shift in 0..8 {
            let mut stack = [0x5555_u64; 4];
            let rsp = stack.as_mut_ptr() as u64 + shift;
            put(rsp, 0x7777);
            assert_eq!(called(area, rsp), rsp + 8);
            assert_eq!(peek::read_value(rsp), Some(0_u64), "nothing of ours stays");
            assert_eq!(peek::read_value(entry_of(area, rsp)), Some(0x7777_u64));
            put(rsp, 0x7777);
            clear_below(area, rsp + 8);
            assert_eq!(peek::read_value(rsp), Some(0_u64));
            put(rsp, 0x8888);
            clear_below(area, rsp + 8);
            assert_eq!(peek::read_value(rsp), Some(0x8888_u64), "the app's");
        }
    }
}
