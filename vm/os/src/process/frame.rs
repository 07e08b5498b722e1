//! The kernel's signal frame for x86-64 (arch/x86/include/uapi/asm/sigcontext.h, ucontext.h). The
//! VM reads frames that the kernel wrote for the VM's handler, and writes frames for the app as the
//! kernel would have written them.
//!
//! ```text
//! frame      address of the restorer
//! frame+8    UContext (304 bytes used by the kernel)
//! frame+312  SigInfo (128)
//! above      vector state, 64-aligned; UContext::fpstate points at it
//! ```

use crate::peek;
use crate::plain::Plain;

pub use crate::siginfo::SigInfo;

/// Register numbers in [`UContext::gregs`].
pub mod greg {
    /// By hardware number: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub const BY_NUMBER: [usize; 16] = [13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7];
    /// r11
    pub const R11: usize = 3;
    /// rdi
    pub const RDI: usize = 8;
    /// rsi
    pub const RSI: usize = 9;
    /// rbp
    pub const RBP: usize = 10;
    /// rdx
    pub const RDX: usize = 12;
    /// rax
    pub const RAX: usize = 13;
    /// rcx
    pub const RCX: usize = 14;
    /// rsp
    pub const RSP: usize = 15;
    /// rip
    pub const RIP: usize = 16;
    /// rflags
    pub const FLAGS: usize = 17;
    /// cs in the low 16 bits, then gs, fs and ss
    pub const SEGMENTS: usize = 18;
    /// error code of a fault
    pub const ERR: usize = 19;
    /// mask, once more
    pub const OLDMASK: usize = 21;
    /// trap number of a fault
    pub const TRAPNO: usize = 20;
    /// faulting address of a page fault
    pub const CR2: usize = 22;
}

/// `struct ucontext` as the kernel lays it out.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UContext {
    /// `UC_*`.
    pub flags: u64,
    /// Unused.
    pub link: u64,
    /// `stack_t`: pointer, flags, size.
    pub stack: [u64; 3],
    /// `struct sigcontext` up to the vector state; see [`greg`].
    pub gregs: [u64; 23],
    /// Address of the vector state.
    pub fpstate: u64,
    reserved: [u64; 8],
    /// Mask to restore.
    pub sigmask: u64,
}

// SAFETY: integers only.
unsafe impl Plain for UContext {}

/// Bytes of the frame below the vector state.
pub const FRAME: u64 = 8 + size_of::<UContext>() as u64 + size_of::<SigInfo>() as u64;
/// Offset of the context in the frame.
pub const CONTEXT: u64 = 8;
/// Offset of the siginfo in the frame.
pub const INFO: u64 = CONTEXT + size_of::<UContext>() as u64;

const _: () = assert!(size_of::<UContext>() == 304 && size_of::<SigInfo>() == 128);

/// Bytes of vector state at `fpstate`, in a frame that the kernel wrote: the size in the
/// software-reserved bytes (`_fpx_sw_bytes` at 464), otherwise that of plain fxsave.
fn vector_len(fpstate: u64) -> u64 {
    const MAGIC1: u32 = 0x4650_5853;
    const FXSAVE: u64 = 512;
    let word = |at: u64| peek::read_value::<u32>(fpstate + at).unwrap_or(0);
    if word(464) == MAGIC1 {
        u64::from(word(468))
    } else {
        FXSAVE
    }
}

/// Resets the vector state at `fpstate`, in a frame that the kernel wrote for the VM, to the
/// initial state, in which handlers begin. With an XSAVE header that is one word; mxcsr is loaded
/// whatever the header says (SDM volume 1, 13.8).
pub fn reset_vector_state(fpstate: u64) {
    const MXCSR: u64 = 24;
    const COMPONENTS: u64 = 512;
    if fpstate == 0 {
        return;
    }
    let put = |at: u64, value: u32| {
        // SAFETY: a frame on the VM's signal stack, whose vector state holds a legacy area at
        // least.
        unsafe { ((fpstate + at) as *mut u32).write(value) };
    };
    put(MXCSR, 0x1f80);
    if vector_len(fpstate) > COMPONENTS {
        put(COMPONENTS, 0);
        put(COMPONENTS + 4, 0);
    } else {
        put(0, 0x37f);
        put(4, 0);
    }
}

/// The part of a stack that a frame may use.
#[derive(Debug)]
pub struct Room {
    /// The frame ends below this address.
    pub top: u64,
    /// The frame begins above this address: the bottom of the alternate stack, if that is used.
    pub bottom: u64,
}

/// Writes a frame into `room`. `context` is complete but for `fpstate`, which still points at the
/// kernel's copy in the VM's frame. Returns the frame's address, or `None` if the app's stack
/// cannot hold it; if the room is too small, nothing is written.
#[must_use]
pub fn write(room: &Room, restorer: u64, context: &UContext, info: &SigInfo) -> Option<u64> {
    let mut context = *context;
    let vector = vector_state(context.fpstate);
    let mut sp = room.top;
    if !vector.is_empty() {
        sp = sp.wrapping_sub(vector.len() as u64) & !63;
        context.fpstate = sp;
    }
    let frame = (sp.wrapping_sub(FRAME) & !15).wrapping_sub(8);
    let done = frame > room.bottom
        && peek::write(sp, vector)
        && peek::write_value(frame, &restorer)
        && peek::write_value(frame + CONTEXT, &context)
        && peek::write_value(frame + INFO, info);
    done.then_some(frame)
}

/// The vector state at `fpstate`, if there is any.
#[must_use]
pub fn vector_state<'a>(fpstate: u64) -> &'a [u8] {
    if fpstate == 0 {
        return &[];
    }
    // SAFETY: the kernel wrote as many bytes there, in the frame of the VM's handler, which lives
    // for as long as the handler.
    unsafe { core::slice::from_raw_parts(fpstate as *const u8, vector_len(fpstate) as usize) }
}
