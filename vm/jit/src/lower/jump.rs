//! Jumps to a fixed target.
//!
//! ```text
//! Target:  jmp target
//! Becomes: jmp exit                         rel32, aligned
//! ```

use super::site::Site;
use crate::emit::Emitter;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let exit = site.exit(emitter, site.ins.target());
    emitter.exit_jump(exit);
}
