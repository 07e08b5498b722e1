//! The bootstrap: H plants it in the fresh image and aims P at it.
//!
//! It is a single `mmap` of the runtime from the inherited descriptor, with all
//! arguments in registers (H sets them anyway), and a jump to the runtime's own
//! entry, which maps the rest ([`crate::load`]). So little is overwritten that
//! word-wise pokes do: no /proc is needed, which may be missing, or show other
//! process ids than ours. Each poke takes a microsecond, so what is said if there is no room lies in
//! the boot block, which lies below `rsp` meanwhile.
//!
//! ```text
//! rdi..r9  mmap(hint, span, R|X, PRIVATE, ppin, offset)      rbx  entry's offset
//! r12 boot block   r13 its length   r14 offset of its place in the span
//! r15 what is said if there is no room   rbp its length
//! ```
#![allow(unsafe_code)]

use crate::block;
use crate::cpu::Cpu;
use crate::elf::Plan;
use crate::ptrace::Tracee;
use crate::regs::{CS_64, Regs};
use crate::sys::{Errno, Kernel, check};
use core::arch::global_asm;
use linux_raw_sys::general::{
    __NR_getrandom, __NR_personality, GRND_NONBLOCK, MAP_PRIVATE, PROT_EXEC, PROT_READ,
};
use ppin_abi::boot::{BOOTSTRAP_MAX, BootHeader};
use ppin_abi::room;

/// `vm/os/src/memory/regions.rs` says why there.
const HINT: u64 = room::RUNTIME;
/// Choices of place, each this many bytes from the next.
const STEP: u64 = 2 << 20;
const CHOICES: u64 = 1 << 16;
const ADDR_NO_RANDOMIZE: usize = 0x0004_0000;
const PAGE: u64 = 4096;

global_asm!(
    ".pushsection .rodata.ppin_bootstrap, \"a\"",
    ".p2align 3",
    ".globl ppin_bootstrap, ppin_bootstrap_end",
    ".hidden ppin_bootstrap, ppin_bootstrap_end",
    "ppin_bootstrap:",
    "mov eax, 9", // mmap; the exec's own return sets rax, so it cannot come from H
    "syscall",
    "test rax, rax",
    "js 2f",
    "add rbx, rax",
    "jmp rbx",
    "2: mov edi, 2",
    "mov rsi, r15",
    "mov edx, ebp",
    "mov eax, 1", // write
    "syscall",
    "mov edi, 125",
    "mov eax, 231", // exit_group
    "syscall",
    ".p2align 3, 0xcc",
    "ppin_bootstrap_end:",
    ".popsection",
);

unsafe extern "C" {
    static ppin_bootstrap: u8;
    static ppin_bootstrap_end: u8;
}

/// The bootstrap's bytes, a multiple of 8 of them.
fn code() -> &'static [u8] {
    // SAFETY: both symbols lie in one read-only section, in this order.
    unsafe {
        let (start, end) = (&raw const ppin_bootstrap, &raw const ppin_bootstrap_end);
        core::slice::from_raw_parts(start, end.offset_from_unsigned(start))
    }
}

/// Everything that H needs to plant the bootstrap.
#[derive(Clone, Copy, Debug)]
pub struct Seed {
    pub header: BootHeader,
    pub texts: block::Texts,
    pub plan: Plan,
    pub ppin_fd: i32,
}

/// Why planting did not work, in words for the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    NotSixtyFourBit,
    Registers,
    Memory,
    Stack,
}

/// Plants the bootstrap in `tracee`, which stands at its exec event, and aims it
/// there. It still has to be let go.
pub fn plant(tracee: Tracee, seed: &mut Seed) -> Result<(), Refusal> {
    let regs = tracee.registers().map_err(|_| Refusal::Registers)?;
    if regs.cs != CS_64 {
        return Err(Refusal::NotSixtyFourBit);
    }
    let page = regs.rip & !(PAGE - 1);
    overwrite(tracee, page, &mut seed.header.saved).map_err(|_| Refusal::Memory)?;
    seed.header.entry_pc = regs.rip;
    seed.header.entry_sp = regs.rsp;
    seed.header.patched_at = page;
    seed.header.patched_len = code().len() as u32;
    let at = block::place(regs.rsp, seed.header.len);
    let pieces = block::pieces(&seed.header, &seed.texts);
    // SAFETY: the texts are P's, which waits in its exec; H has P's former memory.
    unsafe { tracee.write(at, &pieces) }.map_err(|_| Refusal::Stack)?;
    let regs = aimed(regs, page, at, seed);
    tracee.set_registers(&regs).map_err(|_| Refusal::Registers)
}

fn overwrite(tracee: Tracee, page: u64, saved: &mut [u8; BOOTSTRAP_MAX]) -> Result<(), Errno> {
    tracee.read(page, &mut saved[..code().len()])?;
    let (words, _) = code().as_chunks::<8>();
    let mut places = (page..).step_by(8).zip(words);
    places.try_for_each(|(place, word)| tracee.poke(place, *word))
}

fn aimed(regs: Regs, page: u64, block: u64, seed: &Seed) -> Regs {
    let boot_len = u64::from(seed.header.len);
    Regs {
        rip: page,
        rdi: hint(),
        rsi: seed.plan.span + boot_len.next_multiple_of(PAGE),
        rdx: u64::from(PROT_READ | PROT_EXEC),
        r10: u64::from(MAP_PRIVATE),
        r8: seed.ppin_fd as u64,
        r9: seed.header.runtime.offset,
        rbx: seed.plan.entry,
        r12: block,
        r13: boot_len,
        r14: seed.plan.span,
        r15: block + boot_len - block::NO_ROOM.len() as u64,
        rbp: block::NO_ROOM.len() as u64,
        ..regs
    }
}

/// A place for the runtime: random, unless this process asked for none.
pub(crate) fn hint() -> u64 {
    // SAFETY: an all-ones argument only asks.
    let persona = check(unsafe { Cpu.call(__NR_personality, [0xffff_ffff, 0, 0, 0, 0, 0]) });
    if persona.is_ok_and(|bits| bits & ADDR_NO_RANDOMIZE != 0) {
        return HINT;
    }
    let mut random = [0u8; 8];
    let args = [
        random.as_mut_ptr() as usize,
        8,
        GRND_NONBLOCK as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes 8 bytes; should it refuse, zero is as good a place.
    unsafe { Cpu.call(__NR_getrandom, args) };
    HINT + u64::from_le_bytes(random) % CHOICES * STEP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bootstrap_fits_the_place_reserved_for_it() {
        assert!(!code().is_empty());
        assert_eq!(code().len() % 8, 0);
        assert!(code().len() <= BOOTSTRAP_MAX);
    }

    #[test]
    fn hints_are_page_aligned_and_below_the_private_memory() {
        for _ in 0..100 {
            let at = hint();
            assert!(at.is_multiple_of(STEP) && (HINT..room::PRIVATE).contains(&at));
        }
    }
}
