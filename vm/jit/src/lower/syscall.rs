//! System calls. The runtime makes the call with the app's registers in place.
//!
//! ```text
//! Target:  syscall
//! Becomes: lea rcx, [rip + record]          rcx and r11 are dead: the CPU overwrites them
//!          jmp gs:[Entry::Syscall]
//!  resume: mov rcx, [rip + slot]            the address that the CPU leaves there
//!          jmp exit                         to the next instruction
//! ```

use super::site::Site;
use crate::emit::Emitter;
use ppin_abi::area::Entry;

/// Length of `lea rcx, [rip + record]; jmp gs:[entry]`.
const GATE: u32 = 7 + 8;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let (pc, next) = (site.ins.pc(), site.ins.next());
    let resume = emitter.hot.here() + GATE;
    let record = emitter.syscall_record(pc, next, resume);
    emitter.point_rcx_at(record);
    emitter.jump_to(Entry::Syscall);
    debug_assert_eq!(emitter.hot.here(), resume);
    emitter.row(site.ins.offset, 0, 0);
    emitter.load_app_address(next);
    let exit = site.exit(emitter, next);
    emitter.exit_jump(exit);
}
