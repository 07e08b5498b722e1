//! The dispatcher: finds out why the VM was entered, and where to enter the cache.

use crate::check::{lockstep, sample};
use crate::life::answers;
use crate::signal::{deliver, inside, native};
use crate::syscall;
use crate::syscall::in_use;
use crate::syscall::old_calls::{self, Way};
use crate::thread::waiting;
use core::sync::atomic::AtomicU64;
use ppin_abi::addr::{AppPc, CachePc, ImageOff};
use ppin_abi::area::CPUID_JUMP;
use ppin_abi::context::Context;
use ppin_abi::record::{Trap, TrapRec};
use ppin_codecache::CodeOf;
use ppin_os::{filter, report, userfault};
use ppin_process::gate::{self, disp::scratch};
use ppin_process::hints::Hint;
use ppin_process::signal::departure::Departure;
use ppin_process::thread::{Reason, Thread, reg};
use ppin_process::translate;
use ppin_process::vm::{self, Locked, Vm};
use ppin_translate::{callee, changes, compile, hints, indirect, lookup, may_link, sequence};

/// Called by the gate on the VM stack, with all app state saved in `thread`. Returns the cache
/// address to enter.
pub(crate) unsafe extern "C" fn vm_entry(thread: *mut Thread) -> u64 {
    // SAFETY: the gate passes the running thread's structure.
    dispatch(unsafe { &mut *thread }).0
}

fn dispatch(thread: &mut Thread) -> CachePc {
    sample::left_cache();
    thread.signals.returning.forget();
    thread.signals.faults = 0;
    thread.signals.after_call = 0;
    let epoch = {
        let mut vm = vm::lock();
        vm.stats_mut().entered();
        waiting::arrived(&vm, thread);
        sequence::announced_unseen(&mut vm, thread);
        vm.code().epoch()
    };
    let step = lockstep::before(thread);
    let entry = go_on(thread);
    {
        let mut vm = vm::lock();
        let epoch = waiting::awake_since(thread, epoch);
        note_epoch(&mut vm, thread, epoch);
        sequence::arrive(&mut vm, thread, entry);
    }
    if let Some(step) = step {
        lockstep::after(thread, step, entry);
    }
    sample::arrival(thread, entry)
}

fn go_on(thread: &mut Thread) -> CachePc {
    if thread.reason() != Reason::Trap {
        let indirect = thread.reason() == Reason::Indirect;
        let target = if indirect { thread.operand } else { 0 };
        thread.signals.departure = departure(thread, target);
    }
    match thread.reason() {
        Reason::Exit => leave_exit(thread),
        Reason::Indirect => indirect(&mut vm::lock(), thread),
        Reason::Syscall => syscall::handle(thread),
        Reason::AfterCall => syscall::after_call(thread),
        Reason::Trap => trap(thread),
        Reason::Cpuid => cpuid(thread),
        Reason::Resume => lookup(
            &mut vm::lock(),
            AppPc(thread.resume_pc),
            Context(thread.resume_context),
        ),
    }
}

/// The thread's last exit from the cache, with the branch target `target`.
fn departure(thread: &Thread, target: u64) -> Departure {
    let resumed = thread.area.scratch[scratch::SYS_RESUME];
    let area = &thread.area;
    Departure::new(target, area.left_at, resumed, area.app_gs_base)
}

/// Notes that the thread is about to enter code that was in use at `epoch` or later. Code that was
/// retired earlier may be freed when all threads have got here. It may not be freed before that,
/// because the record by which this thread left the cache may lie in retired code. Code that
/// another thread has retired since the entry was looked up is not freed yet.
fn note_epoch(vm: &mut Vm, thread: &mut Thread, epoch: u64) {
    if thread.epoch != epoch {
        sequence::clear_discarded(vm, thread);
        thread.epoch = epoch;
        vm.code().forget_returns(&thread.area);
        waiting::reclaim(vm);
    }
}

/// Handles an unlinked exit: finds the target and links the exit to it.
fn leave_exit(thread: &mut Thread) -> CachePc {
    let stub = thread.operand;
    let mut vm = vm::lock();
    let exit = vm.code().exit_at(stub).expect("stubs pass their address");
    let called = exit.context.contains(Context::CALLED);
    if called {
        let rsp = &mut thread.regs.gpr[reg::RSP];
        *rsp = gate::ret::called(&thread.area, *rsp);
    }
    let epoch = vm.code().epoch();
    let entry = lookup(&mut vm, exit.target, exit.context);
    let in_use = match exit.of {
        // A flush may have retired the exit's own code.
        CodeOf::Fresh => vm.code().epoch() == epoch,
        CodeOf::Retired => false,
        CodeOf::Unit => vm.code().in_units(stub),
    };
    // What has taken the callee's place may not expect a call.
    let begin = match called {
        true => callee::begin(&vm, thread, entry),
        false => None,
    };
    if in_use && begin.is_some() == called && may_link(&vm, entry) {
        vm.code_mut().link(&exit, entry);
        hints::note(&vm, Hint::Exit(stub), entry);
    }
    begin.unwrap_or(entry)
}

/// Answers `cpuid`. Code that is retired is not entered again: the instruction serializes.
fn cpuid(thread: &mut Thread) -> CachePc {
    let resume = thread.operand + CPUID_JUMP;
    let mut vm = vm::lock();
    answers::recall(&mut vm);
    let regs = &mut thread.regs.gpr;
    let [leaf, subleaf] = [regs[reg::RAX], regs[reg::RCX]].map(|word| word as u32);
    let answer = ppin_process::cpuid::ask(leaf, subleaf);
    for (register, value) in [reg::RAX, reg::RBX, reg::RCX, reg::RDX]
        .into_iter()
        .zip(answer)
    {
        regs[register] = value.into();
    }
    match translate::spot(&vm, resume).filter(|_| !in_use(&vm, resume)) {
        Some(spot) if spot.boundary => {
            translate::correct(thread, &spot.corrections);
            let context = deliver::continuation(&vm, &spot);
            lookup(&mut vm, spot.pc, context)
        }
        _ => CachePc(resume),
    }
}

/// Handles a trap: translated code that needs the VM to go on.
fn trap(thread: &mut Thread) -> CachePc {
    // SAFETY: stubs pass the address of their own record.
    let rec = unsafe { (thread.operand as *const TrapRec).read() };
    if let Some(entry) = sequence::trap(thread, &rec) {
        return entry;
    }
    let mut vm = vm::lock();
    let pc = ImageOff(rec.pc).at(vm.code().base_at(thread.operand));
    let near = rec.kind == Trap::Near as u32;
    if near {
        vm.code_mut().may_meet_itself(pc);
    }
    if near || rec.kind == Trap::Changed as u32 {
        return changed(&mut vm, thread, pc);
    }
    let entry = lookup_again(&mut vm, thread, pc, Context(rec.context));
    if rec.kind == Trap::Int80 as u32 {
        drop(vm);
        match old_calls::way(&thread.regs.gpr) {
            Way::Natively => {}
            // (A filter would judge the call by its 32-bit architecture and number.)
            Way::As(nr, args) if filter::of(&thread.area).is_none() => {
                return syscall::by_old_gate(thread, pc, nr, &args);
            }
            _ => report::give_up(format_args!(
                "{pc}: this 32-bit system call (int 0x80) cannot be followed"
            )),
        }
        vm = vm::lock();
    }
    // (A signal may have ended the wait for the code's page.)
    let waits = userfault::is_on() && thread.pending != 0;
    if compile::is_trap_stub(&vm, entry) && !waits {
        return native::begin(thread, pc, entry);
    }
    // The instruction can be translated by now: run the new translation.
    entry
}

/// Looks `pc` up again, after its translation has trapped: a page that could not be read then may
/// be one that the program itself brings (userfaultfd(2)).
fn lookup_again(vm: &mut Locked, thread: &mut Thread, pc: AppPc, context: Context) -> CachePc {
    if !userfault::is_on() {
        return lookup(vm, pc, context);
    }
    // SAFETY: a field of this thread, which its signal handler writes.
    let pending = unsafe { AtomicU64::from_ptr(&raw mut thread.pending) };
    vm.unlocked(|| userfault::bring(pc.0, pending));
    let entry = lookup(vm, pc, context);
    if !compile::is_trap_stub(vm, entry) {
        return entry;
    }
    vm.unlocked(|| userfault::bring_rest(pc.0, pending));
    lookup(vm, pc, context)
}

/// Handles a trap of a fragment that compares its source: the source has changed, or may be about to, from the
/// instruction at `pc` on, or it is time to check whether the fragment must still compare it.
fn changed(vm: &mut Vm, thread: &mut Thread, pc: AppPc) -> CachePc {
    /// Comparisons between two checks: a comparison takes some nanoseconds, a check some thousand.
    const PACE: i64 = 1 << 15;
    let context = match inside::boundary_of(vm, thread.operand, pc) {
        Some(spot) => {
            translate::correct(thread, &spot.corrections);
            deliver::continuation(vm, &spot)
        }
        None => Context::CANONICAL,
    };
    let paused = thread.area.pace < 0;
    thread.area.pace = PACE;
    let compiled = vm.code().figures().traces_compiled;
    let entry = lookup(vm, pc, context);
    if let Some(id) = vm.code().fresh_at(thread.operand) {
        let fresh = vm.code().fragment(id);
        // The part before the change is kept as long as each change is a different one: that part
        // may be the code that makes the changes.
        let anew = vm.code().figures().traces_compiled != compiled;
        let stands = anew && pc != fresh.pc() || paused && compile::unchanged(fresh);
        if fresh.is_in_use() && fresh.entry() != entry && !stands {
            changes::discard(vm, id);
        }
    }
    entry
}
