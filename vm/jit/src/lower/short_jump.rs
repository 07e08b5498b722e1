//! Branches that exist with an 8-bit distance only.
//!
//! ```text
//! Target:  loop/loope/loopne/jrcxz/jecxz target
//! Becomes: loop taken
//!          jmp short over
//!   taken: jmp exit                         rel32, aligned
//!   over:
//! ```

use super::site::Site;
use crate::emit::Emitter;

/// Length of `jmp short`.
const SHORT: u32 = 2;
/// Length of `jmp rel32`, and of its opcode.
const NEAR: u32 = 5;
const NEAR_OPCODE: u32 = 1;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let Some((_distance, branch)) = site.bytes.split_last() else {
        return;
    };
    emitter.hot.bytes(branch);
    emitter.hot.push(SHORT as u8);
    let padding = emitter.branch_padding(emitter.hot.here() + SHORT, NEAR_OPCODE);
    emitter.hot.bytes(&[0xeb, (padding + NEAR) as u8]);
    let exit = site.exit(emitter, site.ins.target());
    emitter.exit_jump(exit);
}
