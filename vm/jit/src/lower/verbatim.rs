//! Instructions that do the same wherever they lie, and those at which the CPU
//! raises an exception, which the engine reports at the app's address.
//!
//! ```text
//! Target:  ins
//! Becomes: ins
//! ```

use super::site::Site;
use crate::emit::Emitter;

pub(super) fn emit(emitter: &mut Emitter, site: &Site<'_>) {
    emitter.hot.bytes(site.bytes);
}
