//! Context switch between the code cache and the VM: save all app state that the VM may clobber,
//! switch to the VM stack, call the routine in the thread area; then restore the state and enter
//! the cache.
//!
//! The runtime is compiled for SSE2 only, so it suffices to save general registers, flags and
//! sixteen xmm registers. Wider vector state stays in the registers.

use super::disp;
use crate::thread::Reason;
use ppin_abi::area::Entry;

unsafe extern "C" {
    /// Unlinked exit: rcx = record, app rcx spilled.
    pub fn leave_exit();
    /// Trap: rcx = record, app rcx spilled.
    pub fn leave_trap();
    /// A call of the gate is over: all app registers in place, but for rcx and r11.
    pub fn leave_after_call();
    /// All app registers in place; goes on at the thread's `resume_pc`.
    pub fn resume_vm();
    /// First of the instructions that restore app state after the last check of `pending`.
    pub fn enter_tail();
    /// End of them.
    pub fn enter_end();
    /// An `int3` that is reached with all app registers in place when a signal is pending: the
    /// kernel's frame for it holds the complete app state.
    pub fn deliver_trap();
    /// An `int3` that is reached with all app registers in place when an app instruction is to run
    /// natively, at its own address.
    pub fn native_trap();
    /// An `int3` that a routine returns to when a signal has arrived in it.
    pub fn routine_trap();
    /// Enters the VM for the first time on this thread: loads `regs` and resumes.
    pub fn enter_first() -> !;
}

/// Address of a routine of the gate.
#[must_use]
pub fn cross(routine: unsafe extern "C" fn()) -> u64 {
    routine as usize as u64
}

core::arch::global_asm!(
    ".text",
    ".balign 64",
    ".globl leave_exit, leave_trap, leave_syscall, leave_after_call, leave_indirect, leave_cpuid",
    ".globl resume_vm",
    ".globl enter_tail, enter_end, deliver_trap, native_trap, routine_trap, enter_first",
    ".hidden leave_exit", ".hidden leave_trap", ".hidden leave_syscall",
    ".hidden leave_after_call", ".hidden leave_indirect", ".hidden leave_cpuid", ".hidden resume_vm",
    ".hidden enter_tail",
    ".hidden native_trap", ".hidden routine_trap",
    ".hidden enter_end", ".hidden deliver_trap", ".hidden enter_first",

    "leave_exit:",
    "mov gs:[{operand}], rcx",
    "mov qword ptr gs:[{reason}], {exit}",
    "jmp 2f",

    "leave_trap:",
    "mov gs:[{operand}], rcx",
    "mov qword ptr gs:[{reason}], {trap}",
    "jmp 2f",

    // A system call that the VM handles: record in SYS_REC, app rcx and r11 dead.
    "leave_syscall:",
    "mov rcx, gs:[{sys_rec}]",
    "mov gs:[{operand}], rcx",
    "mov qword ptr gs:[{reason}], {syscall}",
    "jmp 3f",

    // A call made by the gate is over, and the VM is to look at it (it returned -EFAULT, or code was
    // flushed meanwhile): record in SYS_REC, number in SYS_NR.
    "leave_after_call:",
    "mov rcx, gs:[{sys_rec}]",
    "mov gs:[{operand}], rcx",
    "mov qword ptr gs:[{reason}], {after_call}",
    "jmp 3f",

    // Indirect branch miss: rcx = app target, app rcx spilled.
    "leave_indirect:",
    "mov gs:[{operand}], rcx",
    "mov qword ptr gs:[{reason}], {indirect}",
    "jmp 2f",

    // `cpuid` without a known answer: rcx = the jump to Entry::Cpuid, app rcx spilled.
    "leave_cpuid:",
    "mov gs:[{operand}], rcx",
    "mov qword ptr gs:[{reason}], {cpuid}",
    "jmp 2f",

    "resume_vm:",
    "mov qword ptr gs:[{reason}], {resume}",
    "jmp 3f",

    "2:",
    "mov rcx, gs:[{spill_rcx}]",
    "3:",
    "mov gs:[{gpr} + 0], rax",
    "mov gs:[{gpr} + 8], rcx",
    "mov gs:[{gpr} + 16], rdx",
    "mov gs:[{gpr} + 24], rbx",
    "mov gs:[{gpr} + 32], rsp",
    "mov gs:[{gpr} + 40], rbp",
    "mov gs:[{gpr} + 48], rsi",
    "mov gs:[{gpr} + 56], rdi",
    "mov gs:[{gpr} + 64], r8",
    "mov gs:[{gpr} + 72], r9",
    "mov gs:[{gpr} + 80], r10",
    "mov gs:[{gpr} + 88], r11",
    "mov gs:[{gpr} + 96], r12",
    "mov gs:[{gpr} + 104], r13",
    "mov gs:[{gpr} + 112], r14",
    "mov gs:[{gpr} + 120], r15",
    "mov rsp, gs:[{vm_sp}]",
    "pushfq",
    "pop rax",
    "mov gs:[{flags}], rax",
    "cld",
    "test eax, 0x40100",            // AC or TF
    "jz 4f",
    "and eax, 0xfffbfeff",
    "push rax",
    "popfq",
    "4:",
    "stmxcsr gs:[{mxcsr}]",
    "mov rdi, gs:[0]",
    "lea rdi, [rdi + {thread}]",
    "movaps [rdi + {xmm} + 0], xmm0",
    "movaps [rdi + {xmm} + 16], xmm1",
    "movaps [rdi + {xmm} + 32], xmm2",
    "movaps [rdi + {xmm} + 48], xmm3",
    "movaps [rdi + {xmm} + 64], xmm4",
    "movaps [rdi + {xmm} + 80], xmm5",
    "movaps [rdi + {xmm} + 96], xmm6",
    "movaps [rdi + {xmm} + 112], xmm7",
    "movaps [rdi + {xmm} + 128], xmm8",
    "movaps [rdi + {xmm} + 144], xmm9",
    "movaps [rdi + {xmm} + 160], xmm10",
    "movaps [rdi + {xmm} + 176], xmm11",
    "movaps [rdi + {xmm} + 192], xmm12",
    "movaps [rdi + {xmm} + 208], xmm13",
    "movaps [rdi + {xmm} + 224], xmm14",
    "movaps [rdi + {xmm} + 240], xmm15",
    "call qword ptr gs:[{vm}]",     // rax = cache address to enter

    ".globl enter_cache",
    ".hidden enter_cache",
    "enter_cache:",
    "mov gs:[{target}], rax",
    "mov gs:[{entering}], rax",
    "mov rdi, gs:[0]",
    "lea rdi, [rdi + {thread}]",
    "movaps xmm0, [rdi + {xmm} + 0]",
    "movaps xmm1, [rdi + {xmm} + 16]",
    "movaps xmm2, [rdi + {xmm} + 32]",
    "movaps xmm3, [rdi + {xmm} + 48]",
    "movaps xmm4, [rdi + {xmm} + 64]",
    "movaps xmm5, [rdi + {xmm} + 80]",
    "movaps xmm6, [rdi + {xmm} + 96]",
    "movaps xmm7, [rdi + {xmm} + 112]",
    "movaps xmm8, [rdi + {xmm} + 128]",
    "movaps xmm9, [rdi + {xmm} + 144]",
    "movaps xmm10, [rdi + {xmm} + 160]",
    "movaps xmm11, [rdi + {xmm} + 176]",
    "movaps xmm12, [rdi + {xmm} + 192]",
    "movaps xmm13, [rdi + {xmm} + 208]",
    "movaps xmm14, [rdi + {xmm} + 224]",
    "movaps xmm15, [rdi + {xmm} + 240]",
    "ldmxcsr gs:[{mxcsr}]",
    // The last check of `pending`. A signal that arrives before it is seen here. One that arrives
    // after it finds the pc in enter_tail, and the thread is stepped to the next boundary.
    "cmp qword ptr gs:[{pending}], 0",
    "enter_tail:",
    "je 6f",
    "lea rax, [rip + deliver_trap]",
    "mov gs:[{target}], rax",
    "6:",
    "push qword ptr gs:[{flags}]",
    "popfq",
    "mov rax, gs:[{gpr} + 0]",
    "mov rcx, gs:[{gpr} + 8]",
    "mov rdx, gs:[{gpr} + 16]",
    "mov rbx, gs:[{gpr} + 24]",
    "mov rsp, gs:[{gpr} + 32]",
    "mov rbp, gs:[{gpr} + 40]",
    "mov rsi, gs:[{gpr} + 48]",
    "mov rdi, gs:[{gpr} + 56]",
    "mov r8, gs:[{gpr} + 64]",
    "mov r9, gs:[{gpr} + 72]",
    "mov r10, gs:[{gpr} + 80]",
    "mov r11, gs:[{gpr} + 88]",
    "mov r12, gs:[{gpr} + 96]",
    "mov r13, gs:[{gpr} + 104]",
    "mov r14, gs:[{gpr} + 112]",
    "mov r15, gs:[{gpr} + 120]",
    "jmp qword ptr gs:[{target}]",
    "enter_end:",

    "deliver_trap:",
    "int3",
    "ud2",

    "native_trap:",
    "int3",
    "ud2",

    "routine_trap:",
    "int3",
    "ud2",

    // On the VM stack: dispatch for the state in `regs`, then enter the cache.
    "enter_first:",
    "mov rsp, gs:[{vm_sp}]",
    "mov qword ptr gs:[{reason}], {resume}",
    "mov rdi, gs:[0]",
    "lea rdi, [rdi + {thread}]",
    "call qword ptr gs:[{vm}]",
    "jmp enter_cache",

    exit = const Reason::Exit as u64,
    trap = const Reason::Trap as u64,
    syscall = const Reason::Syscall as u64,
    after_call = const Reason::AfterCall as u64,
    cpuid = const Reason::Cpuid as u64,
    indirect = const Reason::Indirect as u64,
    resume = const Reason::Resume as u64,
    operand = const disp::OPERAND,
    reason = const disp::REASON,
    sys_rec = const disp::SYS_REC,
    spill_rcx = const disp::SPILL_RCX,
    thread = const disp::THREAD,
    gpr = const disp::GPR,
    flags = const disp::FLAGS,
    mxcsr = const disp::MXCSR,
    xmm = const disp::XMM,
    vm_sp = const disp::VM_SP,
    target = const disp::TARGET,
    pending = const disp::PENDING,
    entering = const disp::ENTERING,
    vm = const Entry::Vm.disp(),
);
