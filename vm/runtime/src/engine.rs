//! The product: the engine with the bundled tools.

use core::ops::Range;
use ppin_abi::boot::BootHeader;
use ppin_inject::load::Main;

pub struct Engine;

impl Main for Engine {
    fn main(boot: &'static BootHeader, runtime: Range<u64>) -> ! {
        // SAFETY: called once, on the runtime's own stack, before any app code.
        unsafe { ppin_engine::boot::enter(boot, runtime, ppin_tools::by_name) }
    }
}

/// The engine forks while no thread is inside the heap.
#[unsafe(no_mangle)]
fn ppin_heap_at_rest(run: &mut dyn FnMut(&ppin_engine::lock::Word)) {
    crate::heap::with_heap_at_rest(run);
}

/// The engine flushes its cache before the heap is full.
#[unsafe(no_mangle)]
fn ppin_heap_lasts(len: usize) -> bool {
    crate::heap::lasts(len)
}

/// The engine has taken over what somebody left half changed.
#[unsafe(no_mangle)]
fn ppin_heap_anew() {
    crate::heap::anew();
}
