//! Where the kernel and the C library hand over.
//!
//! # Safety
//!
//! The kernel enters [`ppin_start`] with the command line on the stack and, where a loader has run,
//! with the function to be called at the end in rdx; `_start` of the C library wants the same.
//! `main` has C's signature and is the only one; its third argument is the environment. Nothing here
//! changes command line or environment.
#![allow(unsafe_code)]

use crate::runtime::{self, TOOLS};
use ppin_launcher::{Carried, Stack, Tool};

// What is called before the C library has been started must not need it.
ppin_memory::memory_names!();

/// Tools that write no file unless a knob says so.
const PLAIN_TOOLS: [&str; 5] = ["bbcount", "branches", "cachesim", "icount", "opcodemix"];

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
            tool: plain_tool,
        };
        // SAFETY: see the module.
        ppin_launcher::launch(&unsafe { Stack::new(stack) }, &carried);
    }
}

/// The tool of this name, if it writes no file unasked.
fn plain_tool(name: &[u8]) -> Option<Tool> {
    let known = PLAIN_TOOLS.iter().find(|known| known.as_bytes() == name)?;
    let tool = TOOLS.iter().find(|tool| tool.name == *known)?;
    Some(Tool {
        name: tool.name,
        hash: tool.hash,
        span: tool.span()?,
    })
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
    use super::{PLAIN_TOOLS, plain_tool};
    use crate::tools::{NONE, bundled};

    #[test]
    fn plain_tools_are_those_that_write_no_file_unasked() {
        let all = bundled().unwrap();
        let plain = all.iter().filter(|tool| {
            let mut knobs = tool.card.knobs.iter();
            tool.card.name != NONE && !knobs.any(|knob| knob.writes_file)
        });
        assert!(plain.map(|tool| &tool.card.name).eq(PLAIN_TOOLS));
    }

    #[test]
    fn a_plain_tool_is_the_one_that_the_whole_command_line_finds() {
        for tool in bundled().unwrap() {
            let plain = plain_tool(tool.card.name.as_bytes());
            let place = |tool: &super::Tool| (tool.span.offset, tool.span.len);
            let same = |plain: &super::Tool| {
                (plain.hash, place(plain)) == (tool.chosen.hash, tool.chosen.place)
            };
            assert!(plain.is_none_or(|plain| same(&plain)));
        }
    }
}
