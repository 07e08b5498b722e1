//! Executes one instruction from a given state.

use super::words::Random;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::arch::global_asm;
use std::arch::x86_64::_xgetbv;
use std::mem::offset_of;
use std::num::NonZeroUsize;

/// Words of memory that instructions can reach.
pub const WORDS: usize = 2048;
/// Bytes of an area of `xsave`, without the tiles of AMX.
const AREA: usize = 4096;

/// What an instruction may read and write, but for memory.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct State {
    /// As `xsave` lays it out: x87, vectors and masks.
    pub area: [u8; AREA],
    /// By their numbers.
    pub registers: [u64; 16],
    pub flags: u64,
}

/// What follows from an execution.
#[derive(PartialEq, Eq)]
pub struct Outcome {
    pub state: State,
    pub memory: Vec<u64>,
}

#[unsafe(no_mangle)]
static mut ORACLE_STATE: State = State {
    area: [0; AREA],
    registers: [0; 16],
    flags: 0,
};

global_asm!(
    ".local oracle_host, oracle_code, oracle_stack, oracle_mask",
    ".comm oracle_host, 8, 8",
    ".comm oracle_code, 8, 8",
    ".comm oracle_mask, 8, 8",
    ".comm oracle_stack, 256, 16",
    // rdi: the instruction, rsi: components of the area. 0, or 1 if it faults.
    "oracle_run:",
    "push rbx; push rbp; push r12; push r13; push r14; push r15",
    "mov [rip + oracle_host], rsp",
    "mov [rip + oracle_code], rdi",
    "mov [rip + oracle_mask], rsi",
    "mov eax, esi; xor edx, edx",
    "xrstor64 [rip + ORACLE_STATE]",
    "lea rsp, [rip + oracle_stack + 128]",
    "push qword ptr [rip + ORACLE_STATE + {flags}]; popfq",
    "mov rcx, [rip + ORACLE_STATE + {r} + 8]; mov rdx, [rip + ORACLE_STATE + {r} + 16]",
    "mov rbx, [rip + ORACLE_STATE + {r} + 24]; mov rsp, [rip + ORACLE_STATE + {r} + 32]",
    "mov rbp, [rip + ORACLE_STATE + {r} + 40]; mov rsi, [rip + ORACLE_STATE + {r} + 48]",
    "mov rdi, [rip + ORACLE_STATE + {r} + 56]; mov r8, [rip + ORACLE_STATE + {r} + 64]",
    "mov r9, [rip + ORACLE_STATE + {r} + 72]; mov r10, [rip + ORACLE_STATE + {r} + 80]",
    "mov r11, [rip + ORACLE_STATE + {r} + 88]; mov r12, [rip + ORACLE_STATE + {r} + 96]",
    "mov r13, [rip + ORACLE_STATE + {r} + 104]; mov r14, [rip + ORACLE_STATE + {r} + 112]",
    "mov r15, [rip + ORACLE_STATE + {r} + 120]; mov rax, [rip + ORACLE_STATE + {r}]",
    "jmp [rip + oracle_code]",
    "oracle_end:",
    "mov [rip + ORACLE_STATE + {r}], rax; mov [rip + ORACLE_STATE + {r} + 8], rcx",
    "mov [rip + ORACLE_STATE + {r} + 16], rdx; mov [rip + ORACLE_STATE + {r} + 24], rbx",
    "mov [rip + ORACLE_STATE + {r} + 32], rsp; mov [rip + ORACLE_STATE + {r} + 40], rbp",
    "mov [rip + ORACLE_STATE + {r} + 48], rsi; mov [rip + ORACLE_STATE + {r} + 56], rdi",
    "mov [rip + ORACLE_STATE + {r} + 64], r8; mov [rip + ORACLE_STATE + {r} + 72], r9",
    "mov [rip + ORACLE_STATE + {r} + 80], r10; mov [rip + ORACLE_STATE + {r} + 88], r11",
    "mov [rip + ORACLE_STATE + {r} + 96], r12; mov [rip + ORACLE_STATE + {r} + 104], r13",
    "mov [rip + ORACLE_STATE + {r} + 112], r14; mov [rip + ORACLE_STATE + {r} + 120], r15",
    "lea rsp, [rip + oracle_stack + 128]",
    "pushfq; pop qword ptr [rip + ORACLE_STATE + {flags}]",
    "mov eax, [rip + oracle_mask]; xor edx, edx",
    "xsave64 [rip + ORACLE_STATE]",
    "xor eax, eax",
    "oracle_out:",
    "mov rsp, [rip + oracle_host]",
    "push 0x202; popfq",
    "fninit",
    "pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
    "ret",
    r = const offset_of!(State, registers),
    flags = const offset_of!(State, flags),
);

unsafe extern "C" {
    fn oracle_run(code: *const u8, components: u64) -> u64;
    fn oracle_end();
    fn oracle_out();
}

/// An instruction that faults ends the execution.
extern "C" fn faulted(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a ucontext_t, and nobody else uses it.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RIP as usize] = oracle_out as *const () as i64;
    registers[libc::REG_RAX as usize] = 1;
    registers[libc::REG_EFL as usize] = 0x202;
}

/// Memory and code for the instructions.
pub struct Machine {
    /// One page, to be executed.
    code: *mut u8,
    memory: *mut u64,
    /// What memory holds before each.
    pub before: Vec<u64>,
    components: u64,
}

impl Machine {
    pub fn new(random: &mut Random) -> Self {
        handle_faults();
        let all = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE | ProtFlags::PROT_EXEC;
        // SAFETY: the processor has `xsave`, as all that ppin runs on.
        let enabled = unsafe { _xgetbv(0) };
        /// x87, SSE, AVX and AVX-512.
        const COMPONENTS: u64 = 0xe7;
        Self {
            code: mapped(4096, all).cast(),
            memory: mapped(8 * WORDS, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE).cast(),
            before: (0..WORDS).map(|_| random.word()).collect(),
            components: enabled & COMPONENTS,
        }
    }

    /// Where instructions lie.
    pub fn code(&self) -> u64 {
        self.code as u64
    }

    /// Where memory begins.
    pub fn memory(&self) -> u64 {
        self.memory as u64
    }

    /// Any state: registers are numbers, or places in memory.
    pub fn state(&self, random: &mut Random) -> State {
        let middle = self.memory() + 4 * WORDS as u64;
        let mut state = State {
            area: [0; AREA],
            registers: [0; 16],
            flags: 0x202 | random.word() & super::claims::FLAGS,
        };
        for register in &mut state.registers {
            *register = match random.below(4) {
                0 => random.word(),
                1 => random.below(64),
                _ => middle + 8 * random.below(64),
            };
        }
        state.registers[4] = middle + 8 * random.below(64);
        self.fill(random, &mut state.area);
        state
    }

    /// Vectors and masks; x87 is as after `fninit`.
    fn fill(&self, random: &mut Random, area: &mut [u8; AREA]) {
        const CONTROL: usize = 0;
        const MXCSR: usize = 24;
        const XMM: usize = 160;
        const HEADER: usize = 512;
        const REST: usize = 576;
        for at in (XMM..416).chain(REST..AREA).step_by(8) {
            area[at..at + 8].copy_from_slice(&random.word().to_le_bytes());
        }
        area[CONTROL..CONTROL + 2].copy_from_slice(&0x37fu16.to_le_bytes());
        area[MXCSR..MXCSR + 4].copy_from_slice(&0x1f80u32.to_le_bytes());
        area[HEADER..HEADER + 8].copy_from_slice(&self.components.to_le_bytes());
    }

    /// Puts an instruction where it is executed.
    pub fn load(&mut self, bytes: &[u8]) {
        let mut code = bytes.to_vec();
        // jmp [rip]
        code.extend([0xff, 0x25, 0, 0, 0, 0]);
        code.extend((oracle_end as *const () as u64).to_le_bytes());
        // SAFETY: it fits into the page, which nobody executes now.
        unsafe {
            self.code
                .copy_from_nonoverlapping(code.as_ptr(), code.len())
        };
    }

    /// Executes the instruction from `state`; `None` if it faults.
    pub fn run(&mut self, state: &State) -> Option<Outcome> {
        // SAFETY: memory of `WORDS` words, and the only thread. What an instruction may do to this process was
        // decided when it was chosen.
        unsafe {
            self.memory
                .copy_from_nonoverlapping(self.before.as_ptr(), WORDS);
            (&raw mut ORACLE_STATE).write(*state);
            if oracle_run(self.code, self.components) != 0 {
                return None;
            }
            Some(Outcome {
                state: (&raw const ORACLE_STATE).read(),
                memory: std::slice::from_raw_parts(self.memory, WORDS).to_vec(),
            })
        }
    }
}

fn mapped(len: usize, protection: ProtFlags) -> *mut libc::c_void {
    let len = NonZeroUsize::new(len).expect("not empty");
    // SAFETY: a new mapping.
    let mapped = unsafe { mmap_anonymous(None, len, protection, MapFlags::MAP_PRIVATE) };
    mapped.expect("there is memory").as_ptr()
}

fn handle_faults() {
    const STACK: usize = 64 << 10;
    let stack = libc::stack_t {
        ss_sp: mapped(STACK, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE),
        ss_flags: 0,
        ss_size: STACK,
    };
    let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK | SaFlags::SA_NODEFER;
    let action = SigAction::new(SigHandler::SigAction(faulted), flags, SigSet::empty());
    // SAFETY: a stack of its own, and a handler that only changes where the instruction goes on.
    unsafe {
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        use Signal::{SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
        for signal in [SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] {
            sigaction(signal, &action).expect("it can be handled");
        }
    }
}
