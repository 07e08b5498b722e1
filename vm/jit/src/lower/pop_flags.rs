//! Flags from the stack, among them the trap flag: the first trap comes behind the next
//! instruction in the cache, which must not be a part of the app's next one.
//!
//! ```text
//! Target:  popf
//! Becomes: popf
//!          nop
//! ```

use super::site::Site;
use crate::emit::Emitter;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    emitter.hot.bytes(site.bytes);
    emitter.hot.nops(1);
}
