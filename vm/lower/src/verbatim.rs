//! Instructions that do the same wherever they lie, and those at which the CPU
//! raises an exception, which the engine reports at the app's address.
//!
//! ```text
//! Target:  ins
//! Becomes: ins
//! ```

use super::site::Site;
use ppin_form::Form;

#[inline]
pub(super) fn lower(form: &mut Form, site: &Site<'_>) {
    form.copy(site.id);
}
