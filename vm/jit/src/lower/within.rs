//! Branches inside a restartable sequence, which lies in the cache in one piece.
//!
//! ```text
//! Target:  jcc target                       Becomes: jcc translation of target
//! Target:  jmp target                       Becomes: jmp translation of target
//! Target:  loop target                      Becomes: loop taken
//!                                                    jmp short over
//!                                             taken: jmp translation of target
//!                                             over:
//! ```

use super::cond_jump;
use super::site::Site;
use crate::decode::Kind;
use crate::emit::Emitter;

/// Emits the branch; offset of its rel32 field, which is the caller's to aim.
pub(crate) fn emit(emitter: &mut Emitter, site: &Site<'_>) -> u32 {
    match (site.ins.kind, site.bytes.split_last()) {
        (Kind::CondJump, _) => {
            let opcode = 0x80 | cond_jump::condition(site);
            emitter.hot.bytes(&[0x0f, opcode]);
        }
        (Kind::ShortJump, Some((_distance, branch))) => {
            emitter.hot.bytes(branch);
            emitter.hot.bytes(&[2, 0xeb, 5, 0xe9]);
        }
        _ => emitter.hot.bytes(&[0xe9]),
    }
    emitter.hot.push_i32(0);
    emitter.hot.here() - 4
}
