//! Table of runtime routines, which emitted code and the gate call through the thread area.

use super::{cross, ibl, syscall};
use ppin_abi::area::{ENTRIES, Entry};

/// The table of a thread area. `vm` is called when the cache is left, `analysis` by the bridge at
/// `bridge`. `counted`: lookups of indirect branches are counted.
#[must_use]
pub fn entries(vm: u64, analysis: u64, bridge: u64, counted: bool) -> [u64; ENTRIES] {
    let mut table = [0; ENTRIES];
    let mut set =
        |entry: Entry, f: unsafe extern "C" fn()| table[entry as usize] = f as usize as u64;
    set(Entry::LeaveExit, cross::leave_exit);
    set(Entry::LeaveTrap, cross::leave_trap);
    set(Entry::Syscall, syscall::gate_start);
    let lookup = if counted {
        ibl::ibl_counted
    } else {
        ibl::ibl_start
    };
    set(Entry::IblRet, lookup);
    set(Entry::IblJmp, lookup);
    set(Entry::IblCall, lookup);
    table[Entry::Bridge as usize] = bridge;
    table[Entry::Vm as usize] = vm;
    table[Entry::Analysis as usize] = analysis;
    table
}
