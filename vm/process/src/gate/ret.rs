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
