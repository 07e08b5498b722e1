//! Jumps through a register or memory.
//!
//! ```text
//! Target:  jmp operand
//! Becomes: mov gs:[Spill::Rcx], rcx
//!          mov rcx, operand
//!          jmp gs:[Entry::IblJmp]
//! ```

use super::load_target;
use super::site::Site;
use crate::emit::Emitter;
use ppin_abi::area::{Entry, Spill};

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let app = site.ins.offset;
    emitter.save_rcx();
    load_target::emit(emitter, site);
    emitter.row(app, Spill::Rcx.bit(), 0);
    emitter.jump_to(Entry::IblJmp);
}
