//! Calls through a register or memory.
//!
//! ```text
//! Target:  call operand
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov rcx, operand
//!          push qword [rip + slot]          the app's return address
//!          jmp gs:[Entry::IblCall]
//! ```
//! The operand is read before the push, as the CPU does: `call [rsp + 8]` and
//! `call rsp` see the old stack pointer, and a fault finds nothing pushed.

use super::load_target;
use super::site::Site;
use crate::emit::Emitter;
use ppin_abi::area::{Entry, Spill};

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let app = site.ins.offset;
    emitter.save_rcx();
    load_target::emit(emitter, site);
    emitter.row(app, Spill::Rcx.bit(), 0);
    emitter.push_app_address(site.ins.next());
    emitter.jump_to(Entry::IblCall);
}
