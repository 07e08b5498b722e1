//! How a run ends: with a signal, whose handler notes the complete state and leads
//! back to the host. One run at a time (the machine's lock), because handlers and what
//! they fill are the process's.

use std::ptr;

/// App state, registers in hardware order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct State {
    pub regs: [u64; 16],
    pub flags: u64,
}

/// What the signal handler saw.
#[derive(Clone, Copy, Default)]
pub struct Capture {
    pub signal: i32,
    pub pc: u64,
    pub state: State,
    pub fault: u64,
}

/// What `enter` reads, in the order of its code.
#[repr(C)]
pub struct Launch {
    pub state: State,
    pub host_rsp: u64,
    pub finish: u64,
}

pub static mut CAPTURE: Capture = Capture {
    signal: 0,
    pc: 0,
    state: State {
        regs: [0; 16],
        flags: 0,
    },
    fault: 0,
};
pub static mut LAUNCH: Launch = Launch {
    state: State {
        regs: [0; 16],
        flags: 0,
    },
    host_rsp: 0,
    finish: 0,
};

/// Which registers the kernel saves where.
const GREGS: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid context and info; the machine's lock is held by the
    // thread that this interrupts, which touches neither static while code runs.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        let gregs = &mut context.uc_mcontext.gregs;
        let capture = &mut *ptr::addr_of_mut!(CAPTURE);
        for (value, index) in capture.state.regs.iter_mut().zip(GREGS) {
            *value = gregs[index as usize].cast_unsigned();
        }
        capture.state.flags = gregs[libc::REG_EFL as usize].cast_unsigned();
        capture.signal = signal;
        capture.pc = gregs[libc::REG_RIP as usize].cast_unsigned();
        if signal == libc::SIGTRAP {
            capture.pc -= 1;
        }
        capture.fault = if matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
            (*info).si_addr() as u64
        } else {
            0
        };
        let launch = &*ptr::addr_of!(LAUNCH);
        gregs[libc::REG_RIP as usize] = launch.finish.cast_signed();
        gregs[libc::REG_RSP as usize] = launch.host_rsp.cast_signed();
        gregs[libc::REG_EFL as usize] = 0x202;
    }
}

/// Fresh memory of all permissions; at `at`, if that is not 0.
pub fn map(at: u64, len: usize) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let fixed = if at == 0 {
        0
    } else {
        libc::MAP_FIXED_NOREPLACE
    };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
    // SAFETY: a fresh mapping, which replaces none.
    let address = unsafe { libc::mmap(at as *mut _, len, protection, flags, -1, 0) };
    assert_ne!(address, libc::MAP_FAILED, "mmap at {at:#x}");
    address.cast()
}

/// From here on runs end in the handler.
pub fn catch_signals() {
    // SAFETY: the stack is leaked, the handler is async-signal-safe.
    unsafe {
        let stack = libc::stack_t {
            ss_sp: map(0, 0x10000).cast(),
            ss_flags: 0,
            ss_size: 0x10000,
        };
        assert_eq!(libc::sigaltstack(&stack, ptr::null_mut()), 0);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        for signal in [
            libc::SIGTRAP,
            libc::SIGSEGV,
            libc::SIGILL,
            libc::SIGBUS,
            libc::SIGFPE,
        ] {
            assert_eq!(libc::sigaction(signal, &action, ptr::null_mut()), 0);
        }
    }
}
