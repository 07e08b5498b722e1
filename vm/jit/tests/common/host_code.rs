//! The machine's own code: the way into a state, and stand-ins for the runtime.

use super::capture::{Launch, State};
use dynasmrt::{DynasmApi as _, dynasm};
use ppin_abi::area::{Area, ENTRIES, Entry, Spill};
use std::mem::offset_of;

/// In the area: where `enter` jumps to.
pub const GO: usize = offset_of!(Area, scratch) + 40;
/// In the area: number of analysis calls.
pub const CALLS: usize = offset_of!(Area, scratch) + 16;
const RESUME: i32 = offset_of!(Area, scratch) as i32;
const KEEP: i32 = RESUME + 8;

pub struct HostCode {
    pub enter: extern "sysv64" fn(*mut Launch),
    pub finish: u64,
    /// By [`Entry`]: an `int3` for each way to leave for good.
    pub routines: [u64; ENTRIES],
    _code: dynasmrt::ExecutableBuffer,
}

pub fn assemble() -> HostCode {
    let mut code = dynasmrt::x64::Assembler::new().unwrap();
    let enter = emit_enter(&mut code);
    let finish = code.offset();
    dynasm!(code
        ; .arch x64
        ; pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx
        ; ret
    );
    let syscall = emit_syscall(&mut code);
    let bridge = emit_bridge(&mut code);
    let traps = code.offset();
    for _ in 0..ENTRIES {
        dynasm!(code; .arch x64; int3);
    }
    let code = code.finalize().unwrap();
    let traps = code.ptr(traps) as u64;
    let mut routines = std::array::from_fn(|index| traps + index as u64);
    routines[Entry::Syscall as usize] = code.ptr(syscall) as u64;
    routines[Entry::Bridge as usize] = code.ptr(bridge) as u64;
    HostCode {
        // SAFETY: the code there has this signature.
        enter: unsafe {
            std::mem::transmute::<*const u8, extern "sysv64" fn(*mut Launch)>(code.ptr(enter))
        },
        finish: code.ptr(finish) as u64,
        routines,
        _code: code,
    }
}

/// `enter(launch)`: takes over the state and jumps where [`GO`] says.
fn emit_enter(code: &mut dynasmrt::x64::Assembler) -> dynasmrt::AssemblyOffset {
    let start = code.offset();
    let flags = offset_of!(State, flags) as i32;
    let host_rsp = offset_of!(Launch, host_rsp) as i32;
    let go = GO as i32;
    dynasm!(code
        ; .arch x64
        ; push rbx; push rbp; push r12; push r13; push r14; push r15
        ; mov [rdi + host_rsp], rsp
        ; push QWORD [rdi + flags]
        ; popf
        ; mov rax, [rdi]; mov rcx, [rdi + 8]; mov rdx, [rdi + 16]; mov rbx, [rdi + 24]
        ; mov rsp, [rdi + 32]; mov rbp, [rdi + 40]; mov rsi, [rdi + 48]
        ; mov r8, [rdi + 64]; mov r9, [rdi + 72]; mov r10, [rdi + 80]; mov r11, [rdi + 88]
        ; mov r12, [rdi + 96]; mov r13, [rdi + 104]; mov r14, [rdi + 112]; mov r15, [rdi + 120]
        ; mov rdi, [rdi + 56]
        ; gs jmp QWORD [DWORD go]
    );
    start
}

/// Makes the system call, then goes to `resume` of the `SyscallRec` in rcx.
fn emit_syscall(code: &mut dynasmrt::x64::Assembler) -> dynasmrt::AssemblyOffset {
    let start = code.offset();
    dynasm!(code
        ; .arch x64
        ; gs mov [DWORD RESUME], rcx
        ; syscall
        ; gs mov rcx, [DWORD RESUME]
        ; gs mov [DWORD KEEP], rax
        ; movsxd rax, DWORD [rcx + 8]
        ; lea rcx, [rcx + rax]
        ; gs mov rax, [DWORD KEEP]
        ; jmp rcx
    );
    start
}

/// Counts the call, then goes to `resume` of the `CallRec` in rcx.
fn emit_bridge(code: &mut dynasmrt::x64::Assembler) -> dynasmrt::AssemblyOffset {
    let start = code.offset();
    let calls = CALLS as i32;
    let spill = Spill::Rcx.disp() as i32;
    dynasm!(code
        ; .arch x64
        ; gs mov [DWORD KEEP], rax
        ; movsxd rax, DWORD [rcx]
        ; lea rcx, [rcx + rax]
        ; gs mov [DWORD RESUME], rcx
        ; gs mov rax, [DWORD calls]
        ; lea rax, [rax + 1]
        ; gs mov [DWORD calls], rax
        ; gs mov rax, [DWORD KEEP]
        ; gs mov rcx, [DWORD spill]
        ; gs jmp QWORD [DWORD RESUME]
    );
    start
}
