//! Calls of a fixed target. They end the trace.
//!
//! ```text
//! Target:  call target
//! Becomes: push qword [rip + slot]          the app's return address
//!          jmp exit                         rel32, aligned
//! ```
//! The pushed value is loaded from a slot, not built on the stack in two stores,
//! which would defeat the store forwarding that the return relies on.

use super::site::Site;
use crate::emit::Emitter;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    emitter.push_app_address(site.ins.next());
    let exit = site.exit(emitter, site.ins.target());
    emitter.exit_jump(exit);
}
