//! seccomp(2): the app confines itself, and the VM with it.
//!
//! A filter may end the program for one unexpected call. So its verdict is asked before every call
//! of the VM ([`ppin_os::filter`]). Work that will be impossible later is done before the filter is
//! installed: new fragments are saved, persisted code is admitted, memory is reserved
//! ([`ppin_os::stock`]). If the filter forbids mprotect(2), code that the app may write to is
//! compared at every entry from then on. Under a filter that allows only `read` and `write`,
//! translation goes on without any system call.

use alloc::sync::Arc;
use alloc::vec::Vec;
use ppin_os::filter::{self, may};
use ppin_os::signals::SigSet;
use ppin_os::{c, mem, peek, stock, time, userfault};
use ppin_process::gate::vmcall;
use ppin_process::thread::Thread;
use ppin_process::vm::{self, Vm};
use ppin_seccomp::{Confinement, Filter, Insn, Rule};
use ppin_translate::changes;

const SET_MODE_STRICT: usize = 0;
const SET_MODE_FILTER: usize = 1;
const TSYNC: usize = 1;
const TSYNC_ESRCH: usize = 16;
const WAIT_KILLABLE: usize = 32;

/// The filter that the app wants to install.
struct Wish {
    rule: Rule,
    /// Install it on all threads.
    on_all: bool,
    /// A positive result is the id of a thread that prevented it.
    may_name_a_thread: bool,
    /// A thread that waits for a supervisor's answer can only be woken by a fatal signal.
    killable: bool,
}

/// Handles `seccomp` and `prctl(PR_SET_SECCOMP)`. [`vmcall::ABORTED`]: a signal must be delivered
/// first.
pub(crate) fn handle(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> isize {
    let Some(wish) = wish(nr, args) else {
        return pass(nr, args);
    };
    let (before, was_filtered) = enter(thread, &wish);
    // A signal that has arrived meanwhile may end the process, which may be impossible under the
    // filter.
    // SAFETY: a field of the thread's own structure, which the handler writes.
    let waits = unsafe { core::ptr::read_volatile(&raw const thread.pending) } != 0;
    let result = if !waits {
        pass(nr, args)
    } else {
        vmcall::ABORTED
    };
    if result < 0 || (wish.may_name_a_thread && result > 0) {
        leave(thread, &before, was_filtered);
    }
    result
}

fn pass(nr: u32, args: &[usize; 6]) -> isize {
    // SAFETY: the app's own call.
    unsafe { vmcall::plain(nr, args) }
}

fn wish(nr: u32, args: &[usize; 6]) -> Option<Wish> {
    const MODE_STRICT: usize = 1;
    const MODE_FILTER: usize = 2;
    let (operation, flags, program) = if nr == c::__NR_seccomp {
        (args[0], args[1], args[2])
    } else {
        let operation = match args[1] {
            MODE_STRICT => SET_MODE_STRICT,
            MODE_FILTER => SET_MODE_FILTER,
            _ => return None,
        };
        (operation, 0, args[2])
    };
    let rule = match operation {
        SET_MODE_STRICT => Rule::Strict,
        SET_MODE_FILTER => program_at(program as u64)
            .and_then(|program| Filter::new(&program))
            .map_or(Rule::Unknown, |filter| Rule::Filter(Arc::new(filter))),
        _ => return None,
    };
    Some(Wish {
        rule,
        on_all: flags & TSYNC != 0,
        may_name_a_thread: flags & (TSYNC | TSYNC_ESRCH) == TSYNC,
        killable: flags & WAIT_KILLABLE != 0,
    })
}

/// Reads a `struct sock_fprog`.
fn program_at(at: u64) -> Option<Vec<Insn>> {
    const SIZE: u64 = 8;
    let [len, start] = peek::read_value::<[u64; 2]>(at)?;
    let insns =
        (0..len & 0xffff).map(|n| peek::read_value::<[u8; 8]>(start.wrapping_add(n * SIZE)));
    insns.map(|bytes| bytes.map(Insn::from_bytes)).collect()
}

/// The old filters of each thread, in the order of the list.
type Before = Vec<(*mut Thread, u64)>;

/// Prepares for the filter and treats it as installed: between the kernel's installation and the
/// VM's knowledge of it, the VM must make no call that it forbids. Returns the old state.
fn enter(thread: &Thread, wish: &Wish) -> (Before, bool) {
    let mut vm = vm::lock();
    let next = filter::of(&thread.area)
        .cloned()
        .unwrap_or_default()
        .with(wish.rule.clone());
    if !thread.borrowed_memory {
        prepare(&mut vm, thread, &next, wish.killable);
    }
    if matches!(wish.rule, Rule::Strict) {
        // (Strict mode also forbids to read the time stamp counter.)
        time::allow_ticks(false);
    }
    let next = filter::share(next);
    let mut before = Before::new();
    for one in vm.threads().addresses() {
        if wish.on_all || core::ptr::eq(*one, thread) {
            // SAFETY: the list holds live threads, and the VM lock is held.
            let confined = unsafe { &(**one).area.filters };
            let old = confined.swap(next, core::sync::atomic::Ordering::AcqRel);
            before.push((*one, old));
        }
    }
    vm.update_filters();
    let was_filtered = vm.is_filtered();
    // (A vfork child shares its parent's memory, and the parent is not confined.)
    if !thread.borrowed_memory {
        vm.confine();
        mem::use_old_flags();
        userfault::end();
    }
    (before, was_filtered)
}

/// Restores the old state, because the kernel has refused the filter.
fn leave(thread: &Thread, before: &Before, was_filtered: bool) {
    let mut vm = vm::lock();
    for (one, old) in before {
        if vm.threads().addresses().contains(one) {
            // SAFETY: threads in the list are alive.
            unsafe {
                (**one)
                    .area
                    .filters
                    .store(*old, core::sync::atomic::Ordering::Release)
            };
        }
    }
    vm.update_filters();
    vm.restore_confinement(was_filtered);
    if !was_filtered {
        set_signal_ways(thread, true, true);
    }
}

/// Does the work that must be done before the filters `next` are installed.
fn prepare(vm: &mut Vm, thread: &Thread, next: &Confinement, killable: bool) {
    ppin_translate::save::at_end(vm);
    let (code, library) = vm.code_and_library();
    code.map_all(library);
    code.admit_all();
    vm.code_mut().images_mut().learn_shared();
    thread.process().actions.learn(SigSet::MAX);
    time::mark();
    ppin_process::report::program::remember();
    ppin_process::report::kept::keep(vm.config(), next);
    if stock::is_needed(next) {
        stock::fill();
    }
    let mappable = may(next, c::__NR_mmap, &stock::mapping(mem::RWX));
    vm.code_mut().lay_in(!mappable);
    if !may_guard(next) {
        changes::give_up_guards(vm);
    }
    let returns = may(next, c::__NR_rt_sigreturn, &[0; 6]);
    // (A thread that waits killably is only woken if the kernel itself ends the process, not a
    // handler.)
    let dies = !killable && FATAL_CALLS.iter().all(|nr| may(next, *nr, &[0; 6]));
    set_signal_ways(thread, returns, dies);
}

/// The calls by which the VM ends the process with a signal ([`crate::signal::fatal`]).
const FATAL_CALLS: [u32; 5] = [
    c::__NR_rt_sigaction,
    c::__NR_rt_sigprocmask,
    c::__NR_getpid,
    c::__NR_gettid,
    c::__NR_tgkill,
];

/// Whether guards can be set and lifted.
fn may_guard(next: &Confinement) -> bool {
    let protect = |protection: u32| {
        let args = [0x1000, 0x1000, protection as usize, 0, 0, 0];
        may(next, c::__NR_mprotect, &args)
    };
    protect(mem::RX) && protect(mem::RWX)
}

/// Sets how signal handlers return and whether the kernel or the VM ends the process; installs the
/// dispositions for that.
fn set_signal_ways(thread: &Thread, returns: bool, dies: bool) {
    if ppin_process::signal::by_hand::return_by_hand(!returns)
        | ppin_process::signal::kernel_kills::set(!dies)
    {
        ppin_process::signal::take_over(&mut thread.process().actions);
    }
}
