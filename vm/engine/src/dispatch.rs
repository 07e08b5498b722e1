//! The dispatcher: why the VM was entered, and where to go on.

use crate::check::{lockstep, sample};
use crate::signal::{deliver, inside, native};
use crate::syscall;
use crate::syscall::old_calls::{self, Way};
use core::sync::atomic::AtomicU64;
use ppin_abi::addr::{AppPc, CachePc, ImageOff};
use ppin_abi::boot::flag;
use ppin_abi::context::Context;
use ppin_abi::record::{ExitRec, Trap, TrapRec};
use ppin_os::{filter, report, userfault};
use ppin_process::gate::disp::scratch;
use ppin_process::signal::departure::Departure;
use ppin_process::thread::{Reason, Thread};
use ppin_process::translate;
use ppin_process::vm::{self, Locked, Vm};
use ppin_translate::{changes, compile, lookup, sequence};

/// Called by the gate on the VM stack, all app state saved in `thread`. Returns the
/// cache address to go on at.
pub(crate) unsafe extern "C" fn vm_entry(thread: *mut Thread) -> u64 {
    // SAFETY: the gate passes the running thread's structure.
    dispatch(unsafe { &mut *thread }).0
}

fn dispatch(thread: &mut Thread) -> CachePc {
    sample::left_cache();
    thread.signals.returning.forget();
    thread.signals.faults = 0;
    let epoch = {
        let mut vm = vm::lock();
        vm.stats.vm_entries += 1;
        sequence::announced_unseen(&mut vm, thread);
        vm.code.epoch()
    };
    let step = lockstep::before(thread);
    let entry = go_on(thread);
    {
        let mut vm = vm::lock();
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
        Reason::Exit => leave_exit(thread.operand),
        Reason::Indirect => indirect(AppPc(thread.operand)),
        Reason::Syscall => syscall::handle(thread),
        Reason::Efault => syscall::after_efault(thread),
        Reason::Trap => trap(thread),
        Reason::Resume => lookup(
            &mut vm::lock(),
            AppPc(thread.resume_pc),
            Context(thread.resume_context),
        ),
    }
}

/// How the thread has left the cache for `target`.
fn departure(thread: &Thread, target: u64) -> Departure {
    let resumed = thread.area.scratch[scratch::SYS_RESUME];
    Departure::new(target, thread.target, resumed, thread.area.app_gs_base)
}

/// The thread is about to enter code that was in use at `epoch` or later: what was retired
/// before may be freed once all threads have come by here. Not earlier, because the record
/// by which this one left may lie in retired code; and not what another thread has retired
/// since the entry was looked up.
fn note_epoch(vm: &mut Vm, thread: &mut Thread, epoch: u64) {
    if thread.epoch != epoch {
        sequence::clear_discarded(vm, thread);
        thread.epoch = epoch;
        let known = vm.threads.all().map(|t| t.epoch);
        let oldest = known.min().unwrap_or(0);
        vm.code.reclaim(oldest);
    }
}

/// An unlinked exit: find its target and link it.
fn leave_exit(record: u64) -> CachePc {
    // SAFETY: stubs pass the address of their own record.
    let exit = unsafe { (record as *const ExitRec).read() };
    let mut vm = vm::lock();
    let target = ImageOff(exit.target).at(vm.code.base_at(record));
    let entry = lookup(&mut vm, target, Context(exit.context));
    // A flush may have retired the exit's own code.
    let in_use = vm.code.fresh_at(record).is_some() || vm.code.in_units(record);
    if in_use && may_link(&vm, entry) {
        vm.code.link(record, &exit, entry);
    }
    entry
}

/// Links lead to code that is valid until we take them back.
fn may_link(vm: &Vm, entry: CachePc) -> bool {
    if vm.config.flags & flag::LOCKSTEP != 0 {
        return false;
    }
    let fresh = vm.code.fragment_at(entry.0);
    fresh.is_none_or(|fresh| fresh.may_be_linked_at(entry))
}

/// An indirect branch that its table does not know.
fn indirect(target: AppPc) -> CachePc {
    let mut vm = vm::lock();
    let entry = lookup(&mut vm, target, Context::CANONICAL);
    if may_link(&vm, entry) {
        vm.code.link_indirect(target, entry);
    }
    entry
}

/// Translated code cannot go on by itself.
fn trap(thread: &mut Thread) -> CachePc {
    // SAFETY: stubs pass the address of their own record.
    let rec = unsafe { (thread.operand as *const TrapRec).read() };
    if let Some(entry) = sequence::trap(thread, &rec) {
        return entry;
    }
    let mut vm = vm::lock();
    let pc = ImageOff(rec.pc).at(vm.code.base_at(thread.operand));
    if rec.kind == Trap::Changed as u32 {
        return changed(&mut vm, thread, pc);
    }
    let entry = look_again(&mut vm, thread, pc, Context(rec.context));
    if rec.kind == Trap::Int80 as u32 {
        drop(vm);
        match old_calls::way(&thread.regs.gpr) {
            Way::Natively => {}
            // A filter would judge it by its own architecture and number.
            Way::As(nr, args) if filter::of(&thread.area).is_none() => {
                return syscall::by_old_gate(thread, pc, nr, &args);
            }
            _ => report::give_up(format_args!(
                "{pc}: this 32-bit system call (int 0x80) cannot be followed"
            )),
        }
        vm = vm::lock();
    }
    // A signal may have come before the code has.
    let waits = userfault::is_on() && thread.pending != 0;
    if compile::is_trap_stub(&vm, entry) && !waits {
        return native::begin(thread, pc, entry);
    }
    // What was wrong has been mended meanwhile: the new translation will simply run.
    entry
}

/// The translation of `pc`, after one that could not go on: what could not be read then may
/// have been on its way.
fn look_again(vm: &mut Locked, thread: &mut Thread, pc: AppPc, context: Context) -> CachePc {
    if !userfault::is_on() {
        return lookup(vm, pc, context);
    }
    // SAFETY: a field of ours, which the handler writes.
    let pending = unsafe { AtomicU64::from_ptr(&raw mut thread.pending) };
    vm.unlocked(|| userfault::bring(pc.0, pending));
    let entry = lookup(vm, pc, context);
    if !compile::is_trap_stub(vm, entry) {
        return entry;
    }
    vm.unlocked(|| userfault::bring_rest(pc.0, pending));
    lookup(vm, pc, context)
}

/// The source of the fragment at hand is another now, from the instruction at `pc` on, or it is
/// time to look whether the fragment must still compare it.
fn changed(vm: &mut Vm, thread: &mut Thread, pc: AppPc) -> CachePc {
    /// Comparisons take some nanoseconds each, this some thousand.
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
    let compiled = vm.code.figures.traces_compiled;
    let entry = lookup(vm, pc, context);
    if let Some(id) = vm.code.fresh_at(thread.operand) {
        let fresh = vm.code.fragment(id);
        // What comes before the change is kept as long as that is another each time: it may
        // be what makes it.
        let anew = vm.code.figures.traces_compiled != compiled;
        let stands = anew && pc != fresh.pc() || paused && compile::unchanged(fresh);
        if fresh.is_in_use() && fresh.entry() != entry && !stands {
            changes::discard(vm, id);
        }
    }
    entry
}
