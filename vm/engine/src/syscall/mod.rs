//! System calls that the VM handles. All others pass through the gate
//! ([`ppin_process::gate::syscall`]) without entering the VM.

mod advice;
mod around;
mod attached;
mod by_number;
pub(crate) mod closed_stderr;
pub(crate) mod confine;
mod exec;
pub(crate) mod gate32;
mod kernel_writes;
mod killing;
pub(crate) mod limits;
pub(crate) mod locked;
mod memory;
mod misc;
pub(crate) mod old_calls;
mod opening;
pub(crate) mod outcome;
mod own_memory;
pub(crate) mod pages;
mod process;
mod sent_fault;
mod sigcalls;
mod suspend;
mod tracing;
mod trust;
pub(crate) mod user_dispatch;

use outcome::Outcome;
pub(crate) use outcome::in_use;

use crate::life::leave;
use crate::signal::deliver;
use crate::signal::inside::Inside;
use ppin_abi::addr::{AppPc, CachePc, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::record::SyscallRec;
use ppin_os::Errno;
use ppin_process::gate::disp::scratch;
use ppin_process::gate::table;
use ppin_process::thread::{Thread, reg};
use ppin_process::{translate, vm};
use ppin_translate::changes;

/// Fills the table of the calls that enter the VM.
pub(crate) fn init(config: &ppin_process::config::Config) {
    table::fill();
    closed_stderr::init(config);
}

/// Handles the system call of the `SyscallRec` at `thread.operand`.
pub(crate) fn handle(thread: &mut Thread) -> CachePc {
    let record = thread.operand;
    // SAFETY: the gate passes the record of the code it was entered from.
    let rec = unsafe { (record as *const SyscallRec).read() };
    let resume = record.wrapping_add(i64::from(rec.resume) as u64);
    let base = vm::lock().code().base_at(record);
    returned_to(thread, ImageOff(rec.next).at(base), rec.context);
    // (No trap is due after a system call.)
    thread.signals.trap_flag.skip_next = true;
    let outcome = if thread.pending != 0 {
        Outcome::Again
    } else {
        by_number::decide(thread, resume)
    };
    match outcome {
        Outcome::Done(result) if !met_a_guard(thread, result) => {
            thread.regs.gpr[reg::RAX] = result as u64;
            after(thread, resume)
        }
        Outcome::Done(_) | Outcome::Again => again(thread, resume, ImageOff(rec.pc).at(base)),
        Outcome::Elsewhere(entry) => entry,
        Outcome::Natively(since) => leave::before_call(thread, ImageOff(rec.pc).at(base), since),
    }
}

/// The thread goes on at `next`, with what the CPU leaves in rcx and r11.
fn returned_to(thread: &mut Thread, next: AppPc, context: u32) {
    thread.regs.gpr[reg::RCX] = next.0;
    thread.regs.gpr[reg::R11] = thread.regs.flags;
    thread.resume_pc = next.0;
    thread.resume_context = context;
}

/// Handles the app's `int 0x80` at `pc`, which makes this call.
pub(crate) fn by_old_gate(thread: &mut Thread, pc: AppPc, nr: u32, args: &[usize; 6]) -> CachePc {
    let next = pc.wrapping_add(old_calls::length(pc.0));
    thread.resume_pc = next.0;
    thread.resume_context = Context::CANONICAL.0;
    thread.signals.trap_flag.skip_next = true;
    let go_on = |pc| ppin_translate::lookup(&mut vm::lock(), pc, Context::CANONICAL);
    match gate32::make(thread, nr, args) {
        Outcome::Done(result) if !met_a_guard(thread, result) => {
            thread.regs.gpr[reg::RAX] = result as u64;
            go_on(next)
        }
        Outcome::Done(_) | Outcome::Again => go_on(pc),
        Outcome::Elsewhere(entry) => entry,
        Outcome::Natively(since) => leave::before_call(thread, pc, since),
    }
}

/// Whether a call with this result is to be made again: it has returned -EFAULT, which may be because the VM
/// holds pages of code read-only. Their guards are lifted.
fn met_a_guard(thread: &Thread, result: isize) -> bool {
    let faulted = result == Errno::EFAULT.raw();
    faulted && thread.pending == 0 && changes::release_all(&mut vm::lock())
}

/// Handles a call through the gate that is over, which may have met a guard. Otherwise
/// code was flushed while the thread waited ([`crate::thread::waiting`]).
pub(crate) fn after_call(thread: &mut Thread) -> CachePc {
    let record = thread.operand;
    // SAFETY: as in `handle`.
    let rec = unsafe { (record as *const SyscallRec).read() };
    let base = vm::lock().code().base_at(record);
    thread.signals.trap_flag.skip_next = true;
    if met_a_guard(thread, thread.regs.gpr[reg::RAX] as isize) {
        thread.regs.gpr[reg::RAX] = thread.area.scratch[scratch::SYS_NR];
        return again(
            thread,
            record.wrapping_add(i64::from(rec.resume) as u64),
            ImageOff(rec.pc).at(base),
        );
    }
    returned_to(thread, ImageOff(rec.next).at(base), rec.context);
    after(thread, record.wrapping_add(i64::from(rec.resume) as u64))
}

/// The cache address to go on at after a call. The code that made the call may have been flushed or
/// invalidated meanwhile; then the next instruction is looked up.
fn after(thread: &mut Thread, resume: u64) -> CachePc {
    let mut vm = vm::lock();
    if in_use(&vm, resume) {
        thread.signals.after_call = resume;
        return CachePc(resume);
    }
    let (pc, ctx) = (thread.resume_pc, thread.resume_context);
    ppin_translate::lookup(&mut vm, AppPc(pc), Context(ctx))
}

/// The cache address at which the call is made again: the boundary of the `syscall` instruction,
/// where the pending signal is delivered.
fn again(thread: &mut Thread, resume: u64, pc: AppPc) -> CachePc {
    let mut vm = vm::lock();
    let spot = translate::spot(&vm, resume);
    if let Some(spot) = &spot {
        translate::correct(thread, &spot.corrections);
    }
    if let Some(inside) = Inside::find(&vm, thread, resume, pc) {
        let registers = thread.regs.gpr;
        return inside.enter(thread, |number| registers[number]);
    }
    let ctx = spot.map(|s| deliver::continuation(&vm, &s));
    ppin_translate::lookup(&mut vm, pc, ctx.unwrap_or_default())
}
