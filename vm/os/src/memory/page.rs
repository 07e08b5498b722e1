//! Pages and their protection.

use crate::c;

/// Page size of x86-64.
pub const PAGE: u64 = 4096;

/// No access.
pub const NONE: u32 = c::PROT_NONE;
/// Read.
pub const R: u32 = c::PROT_READ;
/// Read and write.
pub const RW: u32 = c::PROT_READ | c::PROT_WRITE;
/// Read and execute.
pub const RX: u32 = c::PROT_READ | c::PROT_EXEC;
/// Read, write and execute.
pub const RWX: u32 = c::PROT_READ | c::PROT_WRITE | c::PROT_EXEC;

/// `addr` rounded down to a page.
#[must_use]
pub const fn page_down(addr: u64) -> u64 {
    addr & !(PAGE - 1)
}

/// `addr` rounded up to a page.
#[must_use]
pub const fn page_up(addr: u64) -> u64 {
    addr.wrapping_add(PAGE - 1) & !(PAGE - 1)
}
