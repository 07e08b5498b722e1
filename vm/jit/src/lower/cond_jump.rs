//! Branches on a condition; the trace goes on where they are not taken.
//!
//! ```text
//! Target:  jcc target
//! Becomes: jcc exit                         rel32, aligned
//! ```

use super::site::Site;
use crate::emit::Emitter;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    let exit = site.exit(emitter, site.ins.target());
    emitter.exit_jcc(condition(site), exit);
}

/// The condition's number in the opcode, `7x` or `0f 8x`: iced numbers conditions
/// from 1, in another order.
pub(super) fn condition(site: &Site<'_>) -> u8 {
    use iced_x86::ConditionCode as C;
    match site.ins.raw.condition_code() {
        C::o | C::None => 0x0,
        C::no => 0x1,
        C::b => 0x2,
        C::ae => 0x3,
        C::e => 0x4,
        C::ne => 0x5,
        C::be => 0x6,
        C::a => 0x7,
        C::s => 0x8,
        C::ns => 0x9,
        C::p => 0xa,
        C::np => 0xb,
        C::l => 0xc,
        C::ge => 0xd,
        C::le => 0xe,
        C::g => 0xf,
    }
}
