//! The product: the engine with the bundled tools.

use core::ops::Range;
use ppin_abi::boot::BootHeader;
use ppin_inject::load::Main;

pub struct Engine;

impl Main for Engine {
    fn main(boot: &'static BootHeader, runtime: Range<u64>) -> ! {
        // SAFETY: called once, on the runtime's own stack, before any app code.
        unsafe { ppin_engine::boot::enter(boot, runtime, tools) }
    }
}

/// The engine forks while no thread is inside the heap.
#[unsafe(no_mangle)]
fn ppin_heap_at_rest(run: &mut dyn FnMut()) {
    crate::heap::with_heap_at_rest(run);
}

struct Null;
impl ppin_jit::api::Tool for Null {
    fn name(&self) -> &'static str { "null" }
    fn summary(&self) -> &'static str { "" }
    fn instrument(&self, _: &ppin_jit::api::Trace<'_>) {}
}
fn tools(_: &str) -> Option<alloc::boxed::Box<dyn ppin_jit::api::Tool>> { Some(alloc::boxed::Box::new(Null)) }
