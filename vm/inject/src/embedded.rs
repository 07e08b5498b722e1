//! Where the runtime lies in the running executable's own file.
//!
//! # Safety
//!
//! `__ehdr_start` is defined by the linker at this executable's ELF header, behind
//! which the loader has mapped the program headers.
#![allow(unsafe_code)]

use core::mem::size_of;
use ppin_abi::boot::RuntimeSpan;

#[repr(C)]
struct Ehdr {
    ident: [u8; 16],
    kind: [u8; 16],
    phoff: u64,
    shoff: u64,
    flags: [u8; 6],
    phentsize: u16,
    phnum: u16,
    rest: [u8; 6],
}

#[repr(C)]
struct Phdr {
    kind: u32,
    flags: u32,
    offset: u64,
    vaddr: u64,
    paddr: u64,
    filesz: u64,
    memsz: u64,
    align: u64,
}

const PT_LOAD: u32 = 1;
const PAGE: u64 = 4096;

unsafe extern "C" {
    static __ehdr_start: Ehdr;
}

/// Finds the file offset of `bytes`, a constant of this executable. `None` if it
/// is not page-aligned there.
#[must_use]
pub fn embedded_span(bytes: &'static [u8]) -> Option<RuntimeSpan> {
    // SAFETY: see the module.
    let (header, rows) = unsafe {
        let header = &raw const __ehdr_start;
        let first = header
            .cast::<u8>()
            .add((*header).phoff as usize)
            .cast::<Phdr>();
        (
            header,
            core::slice::from_raw_parts(first, usize::from((*header).phnum)),
        )
    };
    debug_assert_eq!(size_of::<Phdr>(), 56);
    let base = (header as u64).wrapping_sub(first_vaddr(rows)?);
    let at = (bytes.as_ptr() as u64).wrapping_sub(base);
    let row = rows
        .iter()
        .find(|row| row.kind == PT_LOAD && at.wrapping_sub(row.vaddr) < row.filesz)?;
    let offset = at - row.vaddr + row.offset;
    let len = bytes.len() as u64;
    offset
        .is_multiple_of(PAGE)
        .then_some(RuntimeSpan { offset, len })
}

/// Address that the file was linked for at offset 0, where the ELF header lies.
fn first_vaddr(rows: &[Phdr]) -> Option<u64> {
    let row = rows.iter().find(|row| row.kind == PT_LOAD)?;
    Some(row.vaddr.wrapping_sub(row.offset))
}
