//! Dispatches system calls by number to their families.

use super::outcome::{Outcome, through_gate};
use super::{
    around, closed_stderr, exec, kernel_writes, killing, memory, misc, opening, own_memory,
    process, sigcalls, suspend, tracing, user_dispatch,
};
use ppin_listing::map_files;
use ppin_os::{c, filter};
use ppin_process::gate::numbers::{
    EXEC, FOLDERS, KILLING, LOOKUPS, MEMORY, OPENING, OTHER, PROCESS, RANGES, READING, SIGNALS,
    SUSPENDING, WRITING,
};
use ppin_process::gate::{table, vmcall};
use ppin_process::thread::{Thread, reg};

/// Handles the call that `thread` makes; the code after it is at `resume`.
pub(super) fn decide(thread: &mut Thread, resume: u64) -> Outcome {
    // (The VM handles no numbers with the x32 bit; the kernel refuses them.)
    let nr = thread.get(reg::RAX) as u32;
    let args = thread.syscall_args();
    if let Some(outcome) = user_dispatch::decide(thread, nr) {
        return outcome;
    }
    if filter::of(&thread.area).is_some_and(|it| it.verdict(&filter::call(nr, &args)).refuses()) {
        return through_gate(thread, resume, nr, &args);
    }
    if let Some(outcome) = closed_stderr::decide(thread, nr, &args) {
        return outcome;
    }
    if table::watches_fills() {
        kernel_writes::before(nr, &args);
    }
    match nr {
        nr if MEMORY.contains(&nr) => memory::handle(thread, nr, &args),
        nr if RANGES.contains(&nr) => match around::call(nr, &args) {
            Some(result) => Outcome::Done(result),
            None => through_gate(thread, resume, nr, &args),
        },
        nr if SIGNALS.contains(&nr) => sigcalls::handle(thread, nr, &args),
        nr if SUSPENDING.contains(&nr) => suspend::handle(thread, nr, &args),
        nr if PROCESS.contains(&nr) => process::handle(thread, nr, &args),
        nr if OPENING.contains(&nr) => opening::handle(thread, nr, &args),
        nr if WRITING.contains(&nr) => own_memory::write(thread, nr, &args),
        nr if KILLING.contains(&nr) => killing::handle(thread, resume, nr, &args),
        nr if READING.contains(&nr) => {
            opening::before_read(nr, &args);
            through_gate(thread, resume, nr, &args)
        }
        c::__NR_ioctl => opening::ask(&args)
            .map_or_else(|| through_gate(thread, resume, nr, &args), Outcome::Done),
        nr if FOLDERS.contains(&nr) => Outcome::Done(opening::read_folder(nr, &args)),
        nr if LOOKUPS.contains(&nr) => map_files::refusal(nr, &args)
            .map_or_else(|| through_gate(thread, resume, nr, &args), Outcome::Done),
        c::__NR_process_vm_writev => own_memory::process_vm_writev(thread, nr, &args),
        nr if EXEC.contains(&nr) => exec::handle(thread, nr, &args),
        nr if OTHER.contains(&nr) => match misc::handle(thread, nr, &args) {
            vmcall::ABORTED => Outcome::Again,
            result => Outcome::Done(result),
        },
        c::__NR_ptrace => tracing::handle(thread, resume, &args),
        c::__NR_rt_sigtimedwait => sigcalls::timed_wait(thread, &args)
            .unwrap_or_else(|| through_gate(thread, resume, nr, &args)),
        nr => through_gate(thread, resume, nr, &args),
    }
}
