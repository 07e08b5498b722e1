//! Registers of the app, and why the VM was entered.

/// General registers of the app, in hardware order, then flags and pc.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Regs {
    /// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub gpr: [u64; 16],
    /// rflags.
    pub flags: u64,
    /// mxcsr, in the low half.
    pub mxcsr: u64,
}

/// Hardware register numbers.
pub mod reg {
    /// rax
    pub const RAX: usize = 0;
    /// rcx
    pub const RCX: usize = 1;
    /// rdx
    pub const RDX: usize = 2;
    /// rbx
    pub const RBX: usize = 3;
    /// rsp
    pub const RSP: usize = 4;
    /// rbp
    pub const RBP: usize = 5;
    /// rsi
    pub const RSI: usize = 6;
    /// rdi
    pub const RDI: usize = 7;
    /// r8
    pub const R8: usize = 8;
    /// r9
    pub const R9: usize = 9;
    /// r10
    pub const R10: usize = 10;
    /// r11
    pub const R11: usize = 11;
}

/// Why emitted code or a runtime routine entered the VM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Reason {
    /// Unlinked exit; `operand` is the address of its stub.
    Exit = 0,
    /// Trap; `operand` is the address of a `TrapRec`.
    Trap = 1,
    /// System call; `operand` is the address of a `SyscallRec`.
    Syscall = 2,
    /// Indirect branch without an entry in the table; `operand` is the app target.
    Indirect = 3,
    /// System call of the gate that is over: it gave -EFAULT, or code was flushed meanwhile;
    /// `operand` as for `Syscall`.
    AfterCall = 5,
    /// `cpuid` without a known answer; `operand` is the cache address of the jump to the routine
    /// that knows the others.
    Cpuid = 6,
    /// Go on at `resume_pc` in `resume_context` (start, signal, invalidation).
    Resume = 4,
}

impl Reason {
    /// The reason that the gate has stored as `number`.
    #[must_use]
    pub const fn of(number: u64) -> Self {
        match number {
            0 => Self::Exit,
            1 => Self::Trap,
            2 => Self::Syscall,
            3 => Self::Indirect,
            5 => Self::AfterCall,
            6 => Self::Cpuid,
            _ => Self::Resume,
        }
    }
}
