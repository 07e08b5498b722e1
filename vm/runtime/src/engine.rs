//! The product: the engine.

use core::ops::Range;
use ppin_abi::boot::BootHeader;
use ppin_inject::load::Main;

pub struct Engine;

impl Main for Engine {
    fn main(boot: &'static BootHeader, runtime: Range<u64>, carrier: i32) -> ! {
        // SAFETY: called once, on the runtime's own stack, before any app code.
        unsafe { ppin_engine::boot::enter(boot, runtime, carrier) }
    }
}
