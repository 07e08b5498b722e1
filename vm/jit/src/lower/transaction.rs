//! Transactions never run in the cache: each aborts where it begins, as one may
//! at any time, and the app takes its fallback path.
//!
//! ```text
//! Target:  xbegin fallback
//! Becomes: mov eax, 0                       status: no reason given; flags kept
//!          jmp exit                         to `fallback`
//! ```

use super::site::Site;
use crate::emit::Emitter;
use dynasm::dynasm;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    dynasm!(emitter.hot; .arch x64; mov eax, 0);
    let exit = site.exit(emitter, site.ins.target());
    emitter.exit_jump(exit);
}
