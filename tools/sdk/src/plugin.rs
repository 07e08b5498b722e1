//! What makes an object of a tool: [`crate::tool`].

pub use ppin_door::inside::heap::{Heap, panic};
pub use ppin_door::table::{Door, KnobRow, knob_rows};
pub use ppin_memory::c_names;

/// Makes a crate of type `cdylib` the object of tool `$tool`, which implements `Tool` and `Default`
/// and has a constant `ABOUT` that describes it.
///
/// ```text
/// ppin_sdk::tool!(Branches);
/// ```
/// Stands once, in the crate's root. It defines all that Rust wants of a platform: an allocator,
/// what a panic does, the memory routines. In tests, which have the platform's own, it defines
/// nothing. The crate cannot forbid `unsafe_code`, since a name that the linker is to see is
/// `unsafe`; it can deny it.
#[macro_export]
macro_rules! tool {
    ($tool:ty) => {
        #[cfg(not(test))]
        static PPIN_KNOBS: [$crate::plugin::KnobRow; <$tool>::ABOUT.knobs.len()] =
            $crate::plugin::knob_rows(<$tool>::ABOUT.knobs);

        /// The door of this tool: the one name that its object shows, at its entry address.
        #[cfg(not(test))]
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub static PPIN_TOOL: $crate::plugin::Door =
            $crate::plugin::Door::of::<$tool>(&<$tool>::ABOUT, &PPIN_KNOBS);

        #[cfg(not(test))]
        #[global_allocator]
        static PPIN_HEAP: $crate::plugin::Heap = $crate::plugin::Heap;

        #[cfg(not(test))]
        #[panic_handler]
        fn ppin_panic(info: &core::panic::PanicInfo<'_>) -> ! {
            $crate::plugin::panic(info)
        }

        #[cfg(not(test))]
        $crate::plugin::c_names!();
    };
}
