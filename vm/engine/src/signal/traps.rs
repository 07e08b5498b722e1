//! What a trap of the CPU says: whether it ends a single step, comes from an `int1`, or is reported behind
//! its instruction.

use ppin_os::frame::{SigInfo, UContext, greg};
use ppin_os::{c, peek};
use ppin_process::signal::trap_flag::{self, TRAP_TRACE};

/// Whether `signal` ends a single step, of the VM or of the app.
pub(crate) fn ends_step(signal: u32, info: &SigInfo, context: &UContext) -> bool {
    let pc = context.gregs[greg::RIP];
    let may =
        signal == c::SIGTRAP && trap_flag::may_end_step(info.code, context.gregs[greg::FLAGS]);
    may && (info.code == TRAP_TRACE || !is_int1(pc) && !is_int1(pc.wrapping_sub(1)))
}

/// Whether `signal` is reported behind the instruction that raised it.
pub(crate) fn is_behind(signal: u32, context: &UContext) -> bool {
    let pc = context.gregs[greg::RIP];
    signal == c::SIGTRAP && !is_int1(pc) || is_overflow(context)
}

/// Whether an `int 4` has trapped, which is `SIGSEGV` for the app.
fn is_overflow(context: &UContext) -> bool {
    const OVERFLOW: u64 = 4;
    const INT_4: [u8; 2] = [0xcd, 4];
    let before = context.gregs[greg::RIP].wrapping_sub(2);
    context.gregs[greg::TRAPNO] == OVERFLOW && peek::read_value(before) == Some(INT_4)
}

/// Whether `pc`, a cache address, is that of an `int1`. Its trap is raised after it, where a branch
/// out of the fragment is, but some hypervisors report it at the instruction.
pub(crate) fn is_int1(pc: u64) -> bool {
    const INT1: u8 = 0xf1;
    let prefix = |byte: &&u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf2 | 0xf3);
    let bytes = peek::read_value::<[u8; 15]>(pc).unwrap_or_default();
    bytes.iter().find(|byte| !prefix(byte)) == Some(&INT1)
}
