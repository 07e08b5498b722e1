//! Where the kernel and the C library hand over.
//!
//! # Safety
//!
//! The kernel enters [`ppin_start`] with the command line on the stack and, where a loader has run,
//! with the function to be called at the end in rdx; `_start` of the C library wants the same.
//! `main` has C's signature and is the only one; its third argument is the environment. Nothing here
//! changes command line or environment.
#![allow(unsafe_code)]

use crate::runtime;
use ppin_launcher::{Carried, Stack};
// What is called before the C library has been started must not need it.
use ppin_memory as _;

/// Tools that write no file unless a knob says so.
const PLAIN_TOOLS: [&[u8]; 4] = [b"bbcount", b"icount", b"null", b"opcodemix"];

unsafe extern "C" {
    fn _start() -> !;
}

/// The executable's entry.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn ppin_start() -> ! {
    core::arch::naked_asm!(
        "mov r12, rsp",
        "mov r13, rdx",
        "mov rdi, rsp",
        "call {plainly}",
        "mov rsp, r12",
        "mov rdx, r13",
        "jmp {c}",
        plainly = sym plainly,
        c = sym _start,
    )
}

/// Becomes the program, if the command line is plain. `stack` is the first stack pointer.
unsafe extern "C" fn plainly(stack: *const usize) {
    // A test's words are not those of the command.
    if cfg!(test) {
        return;
    }
    if let Some(span) = runtime::span() {
        let carried = Carried {
            engine_id: runtime::ENGINE_ID,
            runtime: span,
            tools: &PLAIN_TOOLS,
        };
        // SAFETY: see the module.
        ppin_launcher::launch(&unsafe { Stack::new(stack) }, &carried);
    }
}

/// The standard library finds the arguments by itself.
#[cfg(not(test))]
#[unsafe(no_mangle)]
extern "C" fn main(
    _: std::ffi::c_int,
    _: *const *const u8,
    envp: *const *const u8,
) -> std::ffi::c_int {
    // SAFETY: see the module.
    let environ = unsafe { ppin_inject::Environ::from_main(envp) };
    crate::verb::dispatch(&crate::args::parse(), environ).into()
}

#[cfg(test)]
mod tests {
    use super::PLAIN_TOOLS;

    #[test]
    fn plain_tools_are_those_that_write_no_file_unasked() {
        let writes =
            |tool: &dyn ppin_sdk::prelude::Tool| tool.knobs().iter().any(|k| k.writes_file);
        let tools = ppin_tools::all();
        let plain = tools.iter().filter(|tool| !writes(&***tool));
        assert!(plain.map(|tool| tool.name().as_bytes()).eq(PLAIN_TOOLS));
    }
}
