//! Lockstep (`ppin run --check`): at every entry into the cache the VM reports to a tracer where
//! the app is, and how many instructions it has executed since the last report. The tracer steps a
//! native process equally far and compares the two.
//!
//! In this mode fragments are not linked (`dispatch::may_link`), and code is not taken from the
//! database, where links are part of the file. The tracer is the process that started this one; a
//! report is an `int3` with
//!
//! ```text
//! rax  MAGIC
//! rdi  address of the app's registers: Regs, with xmm0 to xmm15 behind it
//! rsi  the app's pc
//! rdx  instructions executed since the last report, or UNKNOWN
//! ```
//! The tracer may change the registers. Children and further threads do not report.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU64};
use ppin_abi::addr::{AppPc, CachePc, ImageOff};
use ppin_abi::boot::flag;
use ppin_abi::record::{SyscallRec, Trap, TrapRec};
use ppin_os::{c, proc, report};
use ppin_process::thread::{Reason, Regs, Thread};
use ppin_process::translate;
use ppin_process::vm::{self, Vm};

/// Distinguishes a report from the app's own breakpoints.
pub(crate) const MAGIC: u64 = 0x7070_696e_7374_6570;
/// Instruction count if it is unknown: the tracer steps until it reaches the pc.
pub(crate) const UNKNOWN: u64 = u64::MAX;

const UNDECIDED: i32 = 0;
const OFF: i32 = -1;
/// The thread that reports, or one of the two constants above.
static REPORTER: AtomicI32 = AtomicI32::new(UNDECIDED);
/// Instructions in the fragment that was entered last; or UNKNOWN.
static TOTAL: AtomicU64 = AtomicU64::new(UNKNOWN);
static BEHIND: AtomicU64 = AtomicU64::new(0);

/// Facts about the last step, collected before the dispatcher decides where to go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    executed: u64,
    /// The system call that was made, if that is why the VM was entered.
    call: Option<AppPc>,
}

/// Called on VM entry; `None` if this thread does not report.
#[inline]
pub(crate) fn before(thread: &Thread) -> Option<Step> {
    if REPORTER.load(Relaxed) == OFF {
        return None;
    }
    reporting().then(|| step(thread))
}

#[cold]
fn reporting() -> bool {
    if REPORTER.load(Relaxed) == UNDECIDED {
        if vm::lock().config().flags & flag::LOCKSTEP == 0 {
            REPORTER.store(OFF, Relaxed);
            return false;
        }
        start_tracing();
        REPORTER.store(proc::tid(), Relaxed);
    }
    REPORTER.load(Relaxed) == proc::tid()
}

fn start_tracing() {
    // SAFETY: makes the parent process the tracer.
    let result =
        unsafe { ppin_os::raw(c::__NR_ptrace, [c::PTRACE_TRACEME as usize, 0, 0, 0, 0, 0]) };
    if result != 0 {
        report::give_up(format_args!(
            "nobody is there to compare with (error {})",
            -result
        ))
    }
}

fn step(thread: &Thread) -> Step {
    // (A return from a signal enters the cache without calling `after`.)
    let total = TOTAL.swap(UNKNOWN, Relaxed);
    let since = |executed: u64| match total {
        UNKNOWN => UNKNOWN,
        _ if executed == UNKNOWN => UNKNOWN,
        _ => executed.wrapping_sub(BEHIND.load(Relaxed)),
    };
    let nothing = Step {
        executed: since(total),
        call: None,
    };
    match thread.reason {
        r if r == Reason::Exit as u64 => {
            let vm = vm::lock();
            let exit = vm.code().exit_at(thread.operand);
            let exit = exit.expect("stubs pass their address");
            Step {
                executed: since(vm.code().executed_before(&exit).into()),
                ..nothing
            }
        }
        r if r == Reason::Syscall as u64 || r == Reason::AfterCall as u64 => {
            // SAFETY: the gate passes the record of the code it was entered from.
            let rec = unsafe { (thread.operand as *const SyscallRec).read() };
            let base = vm::lock().code().base_at(thread.operand);
            Step {
                call: Some(ImageOff(rec.pc).at(base)),
                ..nothing
            }
        }
        r if r == Reason::Resume as u64 => Step {
            executed: UNKNOWN,
            call: None,
        },
        r if r == Reason::Trap as u64 => Step {
            executed: before_change(thread).map_or(nothing.executed, since),
            call: None,
        },
        _ => nothing,
    }
}

/// If the fragment was left because its source has changed, or is about to: how many instructions were
/// executed before, or UNKNOWN.
fn before_change(thread: &Thread) -> Option<u64> {
    // SAFETY: stubs pass the address of their own record.
    let rec = unsafe { (thread.operand as *const TrapRec).read() };
    let changes = [Trap::Changed, Trap::Near].map(|kind| kind as u32);
    changes.contains(&rec.kind).then(|| {
        let vm = vm::lock();
        let pc = ImageOff(rec.pc).at(vm.code().base_at(thread.operand));
        let executed = vm.code().executed_up_to(pc, thread.operand);
        executed.map_or(UNKNOWN, u64::from)
    })
}

/// Called before the cache is entered at `entry`.
pub(crate) fn after(thread: &mut Thread, step: Step, entry: CachePc) {
    // (A forked child gets here, too.)
    if REPORTER.load(Relaxed) != proc::tid() {
        return;
    }
    let place = place(&vm::lock(), thread, &step, entry);
    let Some(place) = place else { return };
    TOTAL.store(place.total, Relaxed);
    BEHIND.store(place.behind, Relaxed);
    // A system call that will be repeated has not been executed.
    let again = step.call == Some(place.pc) && step.executed != UNKNOWN;
    let executed = if again {
        step.executed.wrapping_sub(1)
    } else {
        step.executed
    };
    tell(&raw mut thread.regs, place.pc, executed);
}

struct Place {
    pc: AppPc,
    total: u64,
    behind: u64,
}

/// The app state that `entry` stands for; `None` if it is no app code (for instance the trap for an
/// instruction that runs natively).
fn place(vm: &Vm, thread: &Thread, step: &Step, entry: CachePc) -> Option<Place> {
    let fresh = vm.code().fragment_at(entry.0);
    let total = fresh.map_or(UNKNOWN, |fresh| u64::from(fresh.code().instructions));
    let spot = translate::spot(vm, entry.0);
    match spot {
        Some(spot) if spot.boundary => {
            let head = fresh.is_some_and(|fresh| fresh.entry() == entry);
            (total != 0).then_some(Place {
                pc: spot.pc,
                total: if head { total } else { UNKNOWN },
                behind: 0,
            })
        }
        // After a system call, which ends its fragment. (Elsewhere, the gate is to make it.)
        _ if step.call.is_some() && vm.code().in_cache(entry.0) => Some(Place {
            pc: AppPc(thread.resume_pc),
            total,
            behind: total,
        }),
        _ => None,
    }
}

fn tell(regs: *mut Regs, pc: AppPc, executed: u64) {
    // SAFETY: the tracer stops this thread here and changes registers only through `regs`.
    unsafe {
        core::arch::asm!(
            "int3",
            in("rax") MAGIC, in("rdi") regs, in("rsi") pc.0, in("rdx") executed,
            options(nostack),
        );
    }
}
