//! Table of runtime routines, which emitted code and the gate call through the thread area.

use super::{cpuid, cross, ibl, ret, syscall};
use ppin_abi::area::{ENTRIES, Entry};

/// How indirect branches are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookups {
    /// Returns by the return cache, others in the table.
    Plain,
    /// All in the table, and every so many enter the VM (see [`crate::sampling`]).
    Counted,
    /// All in the table: the VM must see each that it does not hold.
    All,
}

/// The table of a thread area. `vm` is called when the cache is left, `analysis` by the bridge at
/// `bridge`.
#[must_use]
pub fn entries(vm: u64, analysis: u64, bridge: u64, lookups: Lookups) -> [u64; ENTRIES] {
    let mut table = [0; ENTRIES];
    let mut set =
        |entry: Entry, f: unsafe extern "C" fn()| table[entry as usize] = f as usize as u64;
    set(Entry::LeaveExit, cross::leave_exit);
    set(Entry::LeaveTrap, cross::leave_trap);
    set(Entry::Syscall, syscall::gate_start);
    set(Entry::Unpaired, ret::ret_unpaired);
    set(Entry::NotNear, ibl::not_near);
    set(Entry::ArrivedElsewhere, ibl::arrived_elsewhere);
    set(Entry::Mispredicted, ibl::mispredicted);
    set(Entry::Cpuid, cpuid::cpuid_start);
    set(Entry::ReturnedElsewhere, ret::returned_elsewhere);
    let lookup = match lookups {
        Lookups::Plain | Lookups::All => ibl::ibl_start,
        Lookups::Counted => ibl::ibl_counted,
    };
    set(Entry::IblRet, lookup);
    set(Entry::IblJmp, lookup);
    set(Entry::IblCall, lookup);
    table[Entry::Bridge as usize] = bridge;
    table[Entry::Vm as usize] = vm;
    table[Entry::Analysis as usize] = analysis;
    table
}
