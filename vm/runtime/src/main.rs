//! The injected ELF. It maps itself (see `ppin_inject::load`), provides what Rust
//! expects of a platform (memory routines, heap, panic), and calls the engine. All logic lies in
//! workspace crates, where it is tested.
#![no_std]
#![no_main]

extern crate alloc;

#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "native-smoke")]
mod native;
mod panic;

#[cfg(feature = "engine")]
use engine::Engine as Program;
#[cfg(all(feature = "native-smoke", not(feature = "engine")))]
use native::Native as Program;

ppin_memory::c_names!();

#[global_allocator]
static HEAP: ppin_os::heap::Heap = ppin_os::heap::Heap;

/// The ELF's entry; reached from the bootstrap, not from the kernel.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn runtime_start() -> ! {
    core::arch::naked_asm!("jmp {}", sym ppin_inject::load::start::<Program>)
}
