//! The runtime's first instructions: completing its own mapping.
//!
//! The bootstrap has mapped the runtime's file, readable and executable, over the
//! whole room that it needs; code lies where it belongs, data does not yet. On
//! entry (see [`crate::plant`]):
//!
//! ```text
//! rax base   rsi room   r8 ppin descriptor   r9 offset of the ELF in it
//! r12 boot block, below rsp   r13 its length   r14 offset of its place in the room
//! rsp the app's stack
//! ```
//! Then: the writable segment is mapped over its place, zeros behind it up to the
//! end of the room, the boot block moved into the last pages of these (zeros stay
//! behind); relative relocations are applied, and [`Main::main`] runs on the stack that the runtime
//! supplies. It gets the descriptor, to map tools from it, and closes it.
//!
//! # Safety
//!
//! [`start`] is an entry point, not a function; until [`arrived`] has relocated
//! the image, no code may use the global offset table or a constant that holds an
//! address.
#![allow(unsafe_code)]

use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::ops::Range;
use ppin_abi::boot::BootHeader;

/// The runtime's entry behind the loader.
pub trait Main {
    /// Everything, on a stack of [`STACK`] bytes; `runtime` is all that was mapped,
    /// boot block included. `carrier`: the descriptor of the ppin executable, to be closed.
    fn main(boot: &'static BootHeader, runtime: Range<u64>, carrier: i32) -> !;
}

/// Bytes of the stack that [`Main::main`] starts on.
pub const STACK: usize = 256 << 10;

// (No page, which would set all statics of zeroes apart from others that are written to with them.)
#[repr(C, align(64))]
struct Stack(UnsafeCell<[u8; STACK]>);

// SAFETY: never accessed through this name; it is the first thread's stack.
unsafe impl Sync for Stack {}

static BOOT_STACK: Stack = Stack(UnsafeCell::new([0; STACK]));

macro_rules! no_data {
    () => {
        "ppin: cannot map the runtime's data"
    };
}

/// Entry point of a runtime; see the module. One function, however long: it runs before there
/// is a stack or a relocation to call others by.
///
/// # Safety
/// Reached from the bootstrap only.
#[unsafe(naked)]
pub unsafe extern "C" fn start<M: Main>() -> ! {
    naked_asm!(
        // Find the writable segment. rbp = base from here on.
        "mov rbp, rax",
        "movzx ecx, word ptr [rbp + 56]", // e_phnum
        "mov rdx, [rbp + 32]",            // e_phoff
        "add rdx, rbp",
        "2: cmp dword ptr [rdx], 1", // PT_LOAD
        "jne 3f",
        "test dword ptr [rdx + 4], 2", // PF_W
        "jnz 4f",
        "3: add rdx, 56",
        "dec ecx",
        "jnz 2b",
        "jmp 9f",
        // Map what the file holds of it. rbx = its end, r15 = room.
        "4: mov rdi, [rdx + 16]", // p_vaddr
        "add rdi, rbp",
        "mov rbx, rdi",
        "add rbx, [rdx + 32]", // p_filesz
        "add r9, [rdx + 8]",   // p_offset
        "and r9, -4096",
        "and rdi, -4096",
        "mov r15, rsi",
        "mov rsi, rbx",
        "sub rsi, rdi",
        "mov edx, 3",     // read, write
        "mov r10d, 0x12", // private, fixed
        "mov eax, 9",     // mmap
        "syscall",
        "test rax, rax",
        "js 9f",
        // Zeros to the end of that page, and of the room.
        "mov rdi, rbx",
        "mov rcx, rbx",
        "neg rcx",
        "and ecx, 4095",
        "xor eax, eax",
        "rep stosb",
        "mov rbx, r8", // ppin descriptor
        "lea rsi, [rbp + r15]",
        "sub rsi, rdi",
        "mov edx, 3",
        "mov r10d, 0x32", // private, fixed, anonymous
        "mov r8, -1",
        "xor r9d, r9d",
        "mov eax, 9",
        "syscall",
        "test rax, rax",
        "js 9f",
        // The boot block.
        "mov rsi, r12",
        "lea rdi, [rbp + r14]",
        "mov rcx, r13",
        "rep movsb",
        "mov rdi, r12",
        "mov rcx, r13",
        "xor eax, eax",
        "rep stosb",
        "lea rdi, [rbp + r14]",
        "mov rsi, rbp",
        "mov rdx, r15",
        "lea rcx, [rip + _DYNAMIC]",
        "mov r8d, ebx",
        "lea rsp, [rip + {stack} + {size}]",
        "xor ebp, ebp",
        "call {arrived}",
        "ud2",
        "9: mov edi, 2",
        "lea rsi, [rip + 7f]",
        "mov edx, {len}",
        "mov eax, 1",
        "syscall",
        "mov edi, 125",
        "mov eax, 231", // exit_group
        "syscall",
        concat!("7: .ascii \"", no_data!(), "\""),
        ".byte 10",
        len = const no_data!().len() + 1,
        stack = sym BOOT_STACK,
        size = const STACK,
        arrived = sym arrived::<M>,
    )
}

/// # Safety
/// Called by [`start`], with the image mapped and not yet relocated.
unsafe extern "C" fn arrived<M: Main>(
    boot: *const BootHeader,
    base: u64,
    room: u64,
    dynamic: *const Dyn,
    carrier: i32,
) -> ! {
    // SAFETY: the linker's own table, in a mapped image.
    unsafe { relocate(base, dynamic) };
    // SAFETY: the bootstrap has read the block to this place; nothing writes to it.
    M::main(unsafe { &*boot }, base..base + room, carrier)
}

/// `Elf64_Dyn`.
#[repr(C)]
struct Dyn {
    tag: u64,
    value: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Rela {
    offset: u64,
    kind: u64,
    addend: u64,
}

const DT_NULL: u64 = 0;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const R_RELATIVE: u64 = 8;

/// Applies the relative relocations. A static PIE without imports has no others.
///
/// # Safety
/// `dynamic` is the table of the image mapped at `base`, whose data is writable.
unsafe fn relocate(base: u64, mut dynamic: *const Dyn) {
    let (mut table, mut bytes) = (0, 0);
    loop {
        // SAFETY: the table ends with a null tag.
        let Dyn { tag, value } = unsafe { dynamic.read() };
        match tag {
            DT_NULL => break,
            DT_RELA => table = value,
            DT_RELASZ => bytes = value,
            _ => {}
        }
        // SAFETY: not the last entry.
        dynamic = unsafe { dynamic.add(1) };
    }
    let mut rela = base.wrapping_add(table) as *const Rela;
    let end = base.wrapping_add(table).wrapping_add(bytes) as *const Rela;
    while rela < end {
        // SAFETY: within the table; the places lie in the image's data.
        unsafe {
            if (*rela).kind == R_RELATIVE {
                let place = base.wrapping_add((*rela).offset) as *mut u64;
                place.write_unaligned(base.wrapping_add((*rela).addend));
            }
            rela = rela.add(1);
        }
    }
}
