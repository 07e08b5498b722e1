//! `int 0x80` in 64-bit code: the kernel's 32-bit call table
//! (arch/x86/entry/syscalls/syscall_32.tbl). Most calls do not concern the VM and run natively.
//! Those that the VM must follow are made as the 64-bit calls that do the same to a 64-bit process;
//! a few have no such call and are refused.

use super::pages::Pages;
use ppin_os::{c, peek};
use ppin_process::thread::reg;
use ppin_process::vm;
use ppin_translate::changes;

/// How a call is made.
pub(crate) enum Way {
    /// By the instruction itself.
    Natively,
    /// As this 64-bit call.
    As(u32, [usize; 6]),
    /// Not at all: the VM would have to follow it, and cannot.
    Refused,
}

/// Calls with a twin that takes the same arguments: 32-bit number, 64-bit number.
const TWINS: &[(u32, u32)] = &[
    (1, c::__NR_exit),
    (2, c::__NR_fork),
    (91, c::__NR_munmap),
    (125, c::__NR_mprotect),
    (163, c::__NR_mremap),
    (175, c::__NR_rt_sigprocmask),
    (176, c::__NR_rt_sigpending),
    (190, c::__NR_vfork),
    (219, c::__NR_madvise),
    (252, c::__NR_exit_group),
    (380, c::__NR_pkey_mprotect),
    (397, c::__NR_shmat),
    (435, c::__NR_clone3),
];
const EXECVE: u32 = 11;
const OLD_MMAP: u32 = 90;
const IPC: u32 = 117;
const CLONE: u32 = 120;
const MMAP2: u32 = 192;
const EXECVEAT: u32 = 358;
/// Actions, masks and suspensions with 32-bit layouts, sigreturn, remap_file_pages,
/// set_thread_area, seccomp, rseq and their kin.
const FOLLOWED: &[u32] = &[
    48, 67, 72, 73, 119, 126, 173, 174, 177, 178, 179, 186, 257, 354, 386,
];

/// How to make the call with these registers, by hardware number.
#[must_use]
pub(crate) fn way(registers: &[u64; 16]) -> Way {
    let (nr, args) = (registers[reg::RAX] as u32, arguments(registers));
    if let Some((_, twin)) = TWINS.iter().find(|(old, _)| *old == nr) {
        return Way::As(*twin, args);
    }
    match nr {
        EXECVE => Way::As(c::__NR_execve, args),
        EXECVEAT => Way::As(c::__NR_execveat, args),
        CLONE => clone(args),
        MMAP2 => map(args[0], args[1], args[3]),
        OLD_MMAP => {
            let words = peek::read_value::<[u8; 16]>(args[0] as u64).unwrap_or_default();
            let word = |n: usize| {
                words[4 * n..]
                    .first_chunk()
                    .map_or(0, |b| u32::from_le_bytes(*b))
            };
            map(word(0) as usize, word(1) as usize, word(3) as usize)
        }
        IPC if args[0] & 0xffff == SHMAT => Way::Refused,
        nr if FOLLOWED.contains(&nr) => Way::Refused,
        _ => Way::Natively,
    }
}

const SHMAT: usize = 21;

/// ebx, ecx, edx, esi, edi, ebp.
fn arguments(registers: &[u64; 16]) -> [usize; 6] {
    use reg::{RBP, RBX, RCX, RDI, RDX, RSI};
    [RBX, RCX, RDX, RSI, RDI, RBP].map(|register| registers[register] as u32 as usize)
}

/// clone: the last two arguments are in another order, and thread-local storage is described by a
/// segment.
fn clone(args: [usize; 6]) -> Way {
    let [flags, stack, parent_tid, _, child_tid, _] = args;
    if flags & c::CLONE_SETTLS as usize != 0 {
        return Way::Refused;
    }
    Way::As(c::__NR_clone, [flags, stack, parent_tid, child_tid, 0, 0])
}

/// mmap: the kernel chooses low addresses. Executable memory is registered when the program jumps
/// there.
fn map(addr: usize, len: usize, flags: usize) -> Way {
    let fixed = flags as u32 & c::MAP_FIXED != 0;
    if let Some(pages) = Pages::new(addr, len).filter(|_| fixed) {
        let (start, end) = pages.bounds();
        changes::range(&mut vm::lock(), start, end);
    }
    Way::Natively
}

/// Length of the instruction at `pc`, prefixes included.
#[must_use]
pub(crate) fn length(pc: u64) -> u64 {
    const INT: u8 = 0xcd;
    let bytes = peek::read_value::<[u8; 15]>(pc).unwrap_or_default();
    let prefixes = bytes.iter().position(|byte| *byte == INT);
    prefixes.unwrap_or(0) as u64 + 2
}
