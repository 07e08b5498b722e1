//! The plain case of `ppin run`, before the C library has been started.
//!
//! Starting the C library takes longer than all that `ppin run` has to do: it asks the processor
//! for its caches and features, which a virtual machine answers slowly. So the executable is
//! entered here. A plain command line is
//!
//! ```text
//! ppin [run] [-t TOOL] [-o FILE] [--stats[=FILE]] [--db DIR] [--] PROGRAM ARGS...
//! ```
//! for an ELF program without privileges, a tool without knobs, and a database that is there. All
//! else is left to the whole of `ppin run`: [`launch`] returns, nothing has been said, and nothing
//! has been changed but that the files of report and statistics are there, as the whole of `ppin run`
//! has them where it comes as far. So this crate explains no error, and decides nothing that the whole of
//! `ppin run` would decide differently.
//!
//! ```text
//! stack      what the kernel has put on the stack: arguments and environment
//! words      the command line
//! tool       the tool, as the boot block tells of it
//! program    which file is meant, and whether it may be instrumented
//! database   which database is meant, and whether it may be used
//! output     the files of report and statistics
//! own        the ppin executable itself
//! process    whether this process can carry the runtime
//! path       paths of bounded length
//! kernel     the system calls of all these
//! ```
//! No allocation, no thread-local storage, and no function of the C library: those that it chooses
//! by processor cannot be called before it has been started. The executable has memory routines of
//! its own (`ppin_memory`).
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

mod database;
mod kernel;
mod output;
mod own;
mod path;
mod process;
mod program;
mod stack;
mod tool;
mod words;

use output::Left;
use own::Own;
use ppin_abi::boot::{CacheMode, RuntimeSpan, flag};
use ppin_inject::block::BootParams;
use ppin_inject::{Exec, Launch};
use ppin_persist::evict::DEFAULT_CAP;
use tool::Line;

pub use stack::Stack;
pub use tool::Tool;

/// What the executable carries.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// SHA-256 of the runtime ELF.
    pub engine_id: [u8; 32],
    /// Where the runtime ELF lies in the executable's file. `engine_id` lies behind it.
    pub runtime: RuntimeSpan,
    /// The tool of this name, if the executable carries it, and it writes no file unasked.
    pub tool: fn(&[u8]) -> Option<Tool>,
}

/// Becomes the program that a plain command line asks for. Returns if it is not plain, or if
/// anything fails; the process is as it was.
pub fn launch(stack: &Stack, carried: &Carried) {
    let _ = attempt(stack, carried);
}

fn attempt(stack: &Stack, carried: &Carried) -> Option<()> {
    let plain = words::plain(stack)?;
    let tool = match plain.tool {
        Some(name) => Some((carried.tool)(name)?),
        None => None,
    };
    let tool = Line::of(tool)?;
    if stack.variable(b"PPIN_MAX_SIZE").is_some() {
        return None;
    }
    let (program, status) = program::find(stack, plain.program)?;
    let database = database::find(stack, plain.database)?;
    let output = output::find(plain.output)?;
    let stats = output::find(plain.stats)?;
    let mut own = Own::find(stack)?;
    if !process::has_room() {
        return None;
    }
    output::open(&output, Left::Goes)?;
    output::open(&stats, Left::Stays)?;
    let carrier = own.open(carried.runtime, &carried.engine_id)?;
    let request = Launch {
        boot: BootParams {
            cache_mode: CacheMode::ReadWrite,
            flags: flag::FOLLOW | if plain.wants_stats { flag::STATS } else { 0 },
            db_cap: DEFAULT_CAP,
            engine_id: carried.engine_id,
            program: status.identity,
            db: database.bytes(),
            tool: tool.bytes(),
            output: output.bytes(),
            stats: stats.bytes(),
            ppin: own.path.bytes(),
            ..BootParams::EMPTY
        },
        carrier,
        runtime: carried.runtime,
        ident: None,
        exec: Exec {
            at: None,
            path: program.text().as_ptr().cast(),
            argv: stack.arguments_from(plain.first),
            envp: stack.environment(),
        },
    };
    kernel::execute(&request);
    None
}
