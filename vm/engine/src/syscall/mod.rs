//! System calls that the VM must know of. All others pass through the gate
//! (`glue::syscall`) without entering the VM.

mod advice;
mod around;
mod attached;
mod exec;
mod filled;
pub mod gate32;
mod killing;
pub mod last_words;
pub mod limits;
mod memory;
mod misc;
mod opening;
mod own_memory;
pub mod pages;
mod process;
pub mod resident;
mod sigcalls;
mod suspend;
mod tracing;
mod trust;
pub mod user_dispatch;

pub use memory::forget;
pub use own_memory::is_ours;

use crate::leave;
use crate::listing::map_files;
use crate::signal::deliver;
use crate::signal::inside::Inside;
use ppin_abi::addr::{AppPc, CachePc, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::record::SyscallRec;
use ppin_os::c;
use ppin_os::filter;
use ppin_process::gate::numbers::{
    EXEC, FILLING, FOLDERS, KILLING, LOOKUPS, MEMORY, OPENING, OTHER, PROCESS, RANGES, READING,
    SIGNALS, SUSPENDING, WRITING,
};
use ppin_process::gate::table;
use ppin_process::gate::vmcall;
use ppin_process::thread::Thread;
use ppin_process::thread::reg;
use ppin_process::translate;
use ppin_process::vm;
use ppin_translate::changes;

/// Fills the table.
pub fn init(config: &ppin_process::config::Config) {
    table::fill();
    last_words::init(config);
}

/// How a call handled by the VM ended.
pub enum Outcome {
    /// Result for rax.
    Done(isize),
    /// Not made: a signal goes first, then the app makes the call again.
    Again,
    /// The thread goes on somewhere else, at this cache address.
    Elsewhere(CachePc),
    /// The process is left to itself, and makes the call natively: from the moment that
    /// this happened.
    Natively(&'static str),
}

/// Handles the call at `thread.operand` (a `SyscallRec`).
pub fn handle(thread: &mut Thread) -> CachePc {
    let record = thread.operand;
    // SAFETY: the gate passes the record of the code it was entered from.
    let rec = unsafe { (record as *const SyscallRec).read() };
    let resume = record.wrapping_add(i64::from(rec.resume) as u64);
    let base = vm::lock().code.base_at(record);
    thread.regs.gpr[reg::RCX] = ImageOff(rec.next).at(base).0;
    thread.regs.gpr[reg::R11] = thread.regs.flags;
    thread.resume_pc = ImageOff(rec.next).at(base).0;
    thread.resume_context = rec.context;
    // No trap is due behind a system call.
    thread.signals.trap_flag.standing = true;
    let outcome = if thread.pending != 0 {
        Outcome::Again
    } else {
        dispatch(thread, resume)
    };
    match outcome {
        Outcome::Done(result) => {
            thread.regs.gpr[reg::RAX] = result as u64;
            after(thread, resume)
        }
        Outcome::Again => again(thread, resume, ImageOff(rec.pc).at(base)),
        Outcome::Elsewhere(entry) => entry,
        Outcome::Natively(since) => leave::before_call(thread, ImageOff(rec.pc).at(base), since),
    }
}

/// The app's `int 0x80` at `pc` is this call.
pub fn by_old_gate(thread: &mut Thread, pc: AppPc, nr: u32, args: &[usize; 6]) -> CachePc {
    let next = pc.wrapping_add(gate32::length(pc.0));
    thread.resume_pc = next.0;
    thread.resume_context = Context::CANONICAL.0;
    thread.signals.trap_flag.standing = true;
    let go_on = |pc| ppin_translate::lookup(&mut vm::lock(), pc, Context::CANONICAL);
    match gate32::make(thread, nr, args) {
        Outcome::Done(result) => {
            thread.regs.gpr[reg::RAX] = result as u64;
            go_on(next)
        }
        Outcome::Again => go_on(pc),
        Outcome::Elsewhere(entry) => entry,
        Outcome::Natively(since) => leave::before_call(thread, pc, since),
    }
}

/// A call through the gate gave -EFAULT. If that may be because we hold pages of code
/// read-only, they are given back, and the call is made again.
pub fn after_efault(thread: &mut Thread) -> CachePc {
    let record = thread.operand;
    // SAFETY: as in `handle`.
    let rec = unsafe { (record as *const SyscallRec).read() };
    let base = vm::lock().code.base_at(record);
    thread.signals.trap_flag.standing = true;
    if thread.pending == 0 && changes::release_all(&mut vm::lock()) {
        thread.regs.gpr[reg::RAX] = thread.area.scratch[2];
        return again(
            thread,
            record.wrapping_add(i64::from(rec.resume) as u64),
            ImageOff(rec.pc).at(base),
        );
    }
    thread.resume_pc = ImageOff(rec.next).at(base).0;
    thread.resume_context = rec.context;
    after(thread, record.wrapping_add(i64::from(rec.resume) as u64))
}

/// The code that called may have been flushed or invalidated meanwhile; then the
/// next instruction is looked up.
fn after(thread: &Thread, resume: u64) -> CachePc {
    let mut vm = vm::lock();
    if in_use(&vm, resume) {
        return CachePc(resume);
    }
    let (pc, ctx) = (thread.resume_pc, thread.resume_context);
    ppin_translate::lookup(&mut vm, AppPc(pc), Context(ctx))
}

fn in_use(vm: &vm::Vm, code: u64) -> bool {
    vm.code.fresh_at(code).is_some() || vm.code.in_units(code)
}

/// Back to before the call: the boundary of the `syscall` instruction, where the
/// waiting signal is delivered.
fn again(thread: &mut Thread, resume: u64, pc: AppPc) -> CachePc {
    let mut vm = vm::lock();
    let spot = translate::spot(&vm, resume);
    if let Some(spot) = &spot {
        translate::correct(thread, &spot.corrections);
    }
    if let Some(inside) = Inside::find(&vm, resume, pc) {
        return inside.enter(thread);
    }
    let ctx = spot.map(|s| deliver::continuation(&vm, &s));
    ppin_translate::lookup(&mut vm, pc, ctx.unwrap_or_default())
}

fn dispatch(thread: &mut Thread, resume: u64) -> Outcome {
    // Numbers with the x32 bit are no calls of ours; the kernel refuses them.
    let nr = thread.get(reg::RAX) as u32;
    let args = thread.syscall_args();
    if let Some(outcome) = user_dispatch::decide(thread, nr) {
        return outcome;
    }
    if filter::of(&thread.area).is_some_and(|it| it.verdict(&filter::call(nr, &args)).refuses()) {
        return through_gate(thread, resume, nr, &args);
    }
    if let Some(outcome) = last_words::decide(thread, nr, &args) {
        return outcome;
    }
    if table::watches_fills() && FILLING.contains(&nr) {
        filled::before(nr, &args);
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

/// A call that is none of the VM's business after all goes the usual way, if the code
/// it returns to will still be there.
fn through_gate(thread: &mut Thread, resume: u64, nr: u32, args: &[usize; 6]) -> Outcome {
    if !in_use(&vm::lock(), resume) {
        return pass_interruptible(thread, nr, args);
    }
    Outcome::Elsewhere(CachePc(ppin_process::gate::cross(
        ppin_process::gate::syscall::gate_syscall,
    )))
}

/// Makes the call as the app asked for it.
fn pass(nr: u32, args: &[usize; 6]) -> isize {
    // SAFETY: the app's own call.
    unsafe { vmcall::plain(nr, args) }
}

/// The same, for calls that may sleep.
fn pass_interruptible(thread: &Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    // SAFETY: the app's own call; no lock is held.
    match unsafe { vmcall::interruptible(thread, nr, args) } {
        vmcall::ABORTED => Outcome::Again,
        result => Outcome::Done(result),
    }
}

/// The program has got a userfaultfd, or may get one. (Under a filter, what we would ask of it
/// could end the program.)
fn userfault_begins() {
    if !vm::lock().quiet {
        ppin_os::userfault::begin();
    }
}
