//! Flags from the stack, among them the trap flag: the first trap comes behind the next
//! instruction in the cache, which must not be a part of the app's next one.
//!
//! ```text
//! Target:  popf
//! Becomes: popf
//!          nop
//! ```

use super::site::Site;
use ppin_form::{Form, Op};

pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    form.copy(site.id);
    form.push(Op::Nop);
}
