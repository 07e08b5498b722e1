//! Returns that the return cache says nothing about (`ppin_abi::area::Area::returns`): they are
//! looked up as other indirect branches are. All others stay in emitted code
//! (`ppin_jit`'s `lower/ret.rs`). The flags stay as they are.

use super::disp;
use core::sync::atomic::Ordering;
use ppin_abi::area::{Area, Entry, RETURN_ENTRIES};
use ppin_os::peek;

unsafe extern "C" {
    /// See [`ppin_abi::area::Entry::Unpaired`].
    pub fn ret_unpaired();
    /// The same, where nothing has been pushed.
    fn ret_read_only();
    /// See [`ppin_abi::area::Entry::ReturnedElsewhere`].
    pub fn returned_elsewhere();
    /// The address after the last instruction.
    pub fn ret_end();
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl ret_unpaired, ret_read_only, returned_elsewhere, ret_end",
    ".hidden ret_unpaired", ".hidden ret_read_only", ".hidden returned_elsewhere",
    ".hidden ret_end",
    "ret_unpaired:",
    "mov [rsp - 8], rcx",           // what `ret` has taken is as it was
    "ret_read_only:",
    "mov rdx, gs:[{rdx}]",
    "jmp gs:[{lookup}]",

    "returned_elsewhere:",
    "mov rcx, [rsp - 8]",
    "mov rdx, gs:[{rdx}]",
    "jmp gs:[{lookup}]",
    "ret_end:",
    rdx = const disp::SPILL_RDX,
    lookup = const Entry::IblRet.disp(),
);

fn address(routine: unsafe extern "C" fn()) -> u64 {
    routine as usize as u64
}

/// Where a thread goes on that cannot push to its stack what the return cache says, since that can
/// only be read: a native return does no more.
#[must_use]
pub fn read_only() -> u64 {
    address(ret_read_only)
}

/// The CPU's return address, which lies at `rsp` below the app's, goes to the return cache, as where
/// translated calls lead to ([`ppin_abi::context::Context::CALLED`]); its place becomes 0. Returns the
/// app's stack pointer.
#[must_use]
pub fn called(area: &Area, rsp: u64) -> u64 {
    let apps = rsp.wrapping_add(8);
    let address = peek::read_value(rsp).unwrap_or_else(unpaired);
    area.returns[entry_of(apps)].store(address, Ordering::Relaxed);
    // (It has just been written to by the app's own thread.)
    let _ = peek::write_value(rsp, &0u64);
    apps
}

/// The word below `rsp`, where a callee begins, becomes 0 if the CPU's return address is still there.
pub fn clear_below(area: &Area, rsp: u64) {
    let noted = match rsp as u16 {
        0 => &area.behind_returns[0],
        _ => &area.returns[entry_of(rsp)],
    };
    let below = rsp.wrapping_sub(8);
    if peek::read_value(below) == Some(noted.load(Ordering::Relaxed)) {
        // (It has just been written to by the app's own thread.)
        let _ = peek::write_value(below, &0u64);
    }
}

/// The number of the entry for a return address at `rsp`.
fn entry_of(rsp: u64) -> usize {
    rsp as usize / 8 % RETURN_ENTRIES
}

fn unpaired() -> u64 {
    address(ret_unpaired)
}

/// Where a thread goes on that has come to `pc`, which is no code of ours, by a return: the word
/// below `rsp`, its stack pointer, says so. Either the cache has no entry yet, or another thread
/// has just unmapped the unit. The entry is filled.
#[must_use]
pub fn returned_to_nowhere(area: &Area, pc: u64, rsp: u64, below: u64) -> Option<u64> {
    if pc != below {
        return None;
    }
    let index = entry_of(rsp.wrapping_sub(8));
    area.returns[index].store(unpaired(), Ordering::Relaxed);
    Some(unpaired())
}
