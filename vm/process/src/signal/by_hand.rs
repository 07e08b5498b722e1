//! Return from handlers where the app's filters forbid rt_sigreturn.

use core::sync::atomic::{AtomicBool, Ordering};

/// The app's filters forbid rt_sigreturn. The restorer then restores all but the mask itself:
/// signals stay blocked as they were for the handler.
pub static BY_HAND: AtomicBool = AtomicBool::new(false);

/// Sets whether handlers return without rt_sigreturn; returns whether that is a change.
pub fn return_by_hand(by_hand: bool) -> bool {
    BY_HAND.swap(by_hand, Ordering::Relaxed) != by_hand
}

/// Whether handlers return without rt_sigreturn.
#[must_use]
pub fn returns_by_hand() -> bool {
    BY_HAND.load(Ordering::Relaxed)
}
