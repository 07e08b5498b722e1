//! Returns: a `ret` of the CPU to where the return cache says (`ppin_abi::area::Area::returns`).
//!
//! The code behind the translated call compares, so the cache may be wrong. What it cannot say is
//! left to [`super::ibl`]. The flags stay as they are.

use super::disp;
use core::sync::atomic::Ordering;
use ppin_abi::area::{ARRIVAL, ARRIVAL_BEFORE, Area, RETURN_ENTRIES, RETURNS};

unsafe extern "C" {
    /// Entry: app target in rcx, app rcx spilled, the target just popped from the app's stack.
    pub fn ret_start();
    /// The only instruction of these that writes to the app's stack before it is known to be
    /// writable.
    fn ret_push();
    /// The cache says nothing about the target in rcx; rcx and rdx are spilled.
    pub fn ret_unpaired();
    /// The same, where nothing has been pushed.
    fn ret_read_only();
    /// The cache was wrong: see [`ppin_abi::area::Entry::ReturnedElsewhere`].
    pub fn returned_elsewhere();
    /// The address after the last instruction.
    pub fn ret_end();
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl ret_start, ret_push, ret_unpaired, ret_read_only, returned_elsewhere, ret_end",
    ".hidden ret_start", ".hidden ret_push", ".hidden ret_unpaired",
    ".hidden ret_read_only", ".hidden returned_elsewhere", ".hidden ret_end",
    "ret_start:",
    "mov gs:[{rdx}], rdx",
    "mov rdx, gs:[{arrival}]",
    "mov gs:[{before}], rdx",
    "mov gs:[{arrival}], rcx",
    "lea edx, [rsp - 8]",
    "movzx edx, dx",
    "ret_push:",
    "push qword ptr gs:[rdx + {returns}]",
    "ret",

    "ret_unpaired:",
    "mov [rsp - 8], rcx",           // what `ret` has taken is as it was
    "ret_read_only:",
    "mov rdx, gs:[{rdx}]",
    "jmp ibl_start",

    "returned_elsewhere:",
    "not rdx",
    "lea rcx, [rcx + rdx]",
    "mov rdx, gs:[{rdx}]",
    "jmp ibl_start",
    "ret_end:",
    rdx = const disp::SPILL_RDX,
    returns = const RETURNS,
    arrival = const ARRIVAL,
    before = const ARRIVAL_BEFORE,
);

fn address(routine: unsafe extern "C" fn()) -> u64 {
    routine as usize as u64
}

/// Where a thread goes on after a fault at `pc`, if it was about to push to a stack that cannot be
/// written to: a native return only reads there.
#[must_use]
pub fn fixup(pc: u64) -> Option<u64> {
    (pc == address(ret_push)).then(|| address(ret_read_only))
}

/// Where a thread goes on that has come to `pc`, which is no code of ours, by a return: the word
/// below `rsp`, its stack pointer, says so. Either the cache has no entry yet, or another thread
/// has just unmapped the unit. The entry is filled.
#[must_use]
pub fn returned_to_nowhere(area: &Area, pc: u64, rsp: u64, below: u64) -> Option<u64> {
    if pc != below {
        return None;
    }
    let index = rsp.wrapping_sub(8) as usize / 8 % RETURN_ENTRIES;
    area.returns[index].store(address(ret_unpaired), Ordering::Relaxed);
    Some(address(ret_unpaired))
}
