//! The bases of fs and gs, by instruction or by call (arch_prctl(2)).

use crate::call::raw;
use crate::{c, fsgs};

pub use crate::fsgs::{
    access_rights, gs_selector, loadable, quick_gs_base, set_gs_selector, use_segment_bases,
    write_gs_base,
};

/// Sets the base of gs; its selector becomes 0.
pub fn set_gs_base(base: u64) {
    if fsgs::are_usable() {
        set_gs_selector(0);
        return write_gs_base(base);
    }
    // SAFETY: gs belongs to the runtime.
    unsafe {
        raw(
            c::__NR_arch_prctl,
            [c::ARCH_SET_GS, base as usize, 0, 0, 0, 0],
        )
    };
}

/// The base of the app's fs.
#[must_use]
pub fn fs_base() -> u64 {
    fsgs::quick_fs_base().unwrap_or_else(|| ask_base(c::ARCH_GET_FS))
}

/// The base that the kernel returns (arch_prctl(2)).
fn ask_base(which: usize) -> u64 {
    let mut base = 0u64;
    // SAFETY: `ARCH_GET_FS` and `ARCH_GET_GS` store one word.
    unsafe {
        raw(
            c::__NR_arch_prctl,
            [which, &raw mut base as usize, 0, 0, 0, 0],
        )
    };
    base
}

/// The base of gs.
#[must_use]
pub fn gs_base() -> u64 {
    quick_gs_base().unwrap_or_else(|| ask_base(c::ARCH_GET_GS))
}
