//! The runtime in a program that runs already: what `ppin attach` maps and writes there.
//!
//! No exec, no helper: who attaches has stopped the program, and has it make the system calls that
//! bootstrap and kernel make otherwise. Then one thread enters the runtime as [`crate::load`] says.
#![allow(unsafe_code)]

use crate::block::{self, BootParams};
use crate::cpu::Cpu;
use crate::elf::Plan;
use crate::plant;
use alloc::vec::Vec;
use ppin_abi::boot::RuntimeSpan;

const PAGE: u64 = 4096;

/// What is brought.
#[derive(Clone, Copy, Debug)]
pub struct Cargo<'a> {
    /// For the boot block. Its `tasks` are the program's threads.
    pub boot: BootParams<'a>,
    /// Where the runtime lies in the ppin executable.
    pub runtime: RuntimeSpan,
    /// How it is mapped.
    pub plan: Plan,
    /// Device, inode and change time (ns) of the ppin executable.
    pub ident: [u64; 3],
    /// The program's first stack pointer.
    pub stack: u64,
}

/// Arguments of the `mmap` of the runtime, private, readable and executable, from the ppin executable.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Address where it should lie.
    pub hint: u64,
    /// Bytes.
    pub len: u64,
    /// Offset in the file.
    pub offset: u64,
}

/// What registers hold when a thread enters the runtime, by their names.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "`load` says what they are")]
pub struct Entry {
    pub rip: u64,
    pub rax: u64,
    pub rsi: u64,
    pub r8: u64,
    pub r9: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
}

impl Cargo<'_> {
    /// The boot block, wherever it is put.
    #[must_use]
    pub fn block(&self) -> Vec<u8> {
        let mut header = self.boot.header(&mut Cpu);
        header.runtime = self.runtime;
        header.ppin_ident = self.ident;
        header.entry_sp = self.stack;
        let texts = block::texts(&self.boot);
        let pieces = block::pieces(&header, &texts);
        let bytes = pieces.iter().flat_map(|piece| {
            // SAFETY: pieces of `header` and of texts that are alive.
            unsafe {
                core::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len as usize)
            }
        });
        bytes.copied().collect()
    }

    /// The room that runtime and boot block take.
    #[must_use]
    pub fn room(&self, block: &[u8]) -> Room {
        Room {
            hint: plant::hint(),
            len: self.plan.span + (block.len() as u64).next_multiple_of(PAGE),
            offset: self.runtime.offset,
        }
    }

    /// How the runtime is entered: it is mapped at `base`, as `room` says, from descriptor `carrier`, and the block
    /// lies at address `at` and has `len` bytes.
    #[must_use]
    pub fn entry(&self, base: u64, room: &Room, carrier: u64, (at, len): (u64, u64)) -> Entry {
        Entry {
            rip: base + self.plan.entry,
            rax: base,
            rsi: room.len,
            r8: carrier,
            r9: room.offset,
            r12: at,
            r13: len,
            r14: self.plan.span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::boot::{BootHeader, MAGIC};

    #[test]
    fn a_block_has_its_header_and_its_texts() {
        let cargo = Cargo {
            boot: BootParams {
                db: b"/a/b",
                tasks: &[7; 16],
                ..BootParams::EMPTY
            },
            runtime: RuntimeSpan {
                offset: 0x5000,
                len: 0x1234,
            },
            plan: Plan {
                span: 0x8000,
                entry: 0x1040,
            },
            ident: [1, 2, 3],
            stack: 0x7000,
        };
        let block = cargo.block();
        assert!(block.starts_with(&MAGIC));
        // SAFETY: integers only.
        let header = unsafe { block.as_ptr().cast::<BootHeader>().read_unaligned() };
        assert_eq!(header.len as usize, block.len());
        assert_eq!([header.entry_pc, header.entry_sp], [0, 0x7000]);
        let text = |text: ppin_abi::boot::Str| &block[text.at as usize..][..text.len as usize];
        assert_eq!(
            (text(header.db), text(header.tasks)),
            (&b"/a/b"[..], &[7; 16][..])
        );
        let room = cargo.room(&block);
        assert_eq!((room.len, room.offset), (0x9000, 0x5000));
        let entry = cargo.entry(0x55_0000, &room, 9, (0x100, block.len() as u64));
        assert_eq!(
            [entry.rip, entry.rsi, entry.r14],
            [0x55_1040, 0x9000, 0x8000]
        );
    }
}
