//! The app confines itself (seccomp(2)), and us with it.
//!
//! A filter may end the program for one call that it does not expect. So its verdict is
//! asked before every call of ours ([`own`]), and what will not be possible any more is
//! done before it is installed: what is known is saved, persisted code is admitted,
//! memory is laid in ([`reserve`]), and where protection cannot be changed, code that
//! the app may write to is compared at every entry from then on. Under a filter that
//! allows `read` and `write` alone, translation goes on without any call.

use alloc::sync::Arc;
use alloc::vec::Vec;
use ppin_os::filter::{self, may};
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

/// What the app wants to impose on itself.
struct Wish {
    rule: Rule,
    /// On all threads.
    on_all: bool,
    /// A positive result names a thread that stood in the way.
    may_name_a_thread: bool,
    /// Who waits for a supervisor's answer is woken by nothing but death.
    killable: bool,
}

/// Handles `seccomp` and `prctl(PR_SET_SECCOMP)`; [`vmcall::ABORTED`]: a signal goes first.
pub(crate) fn handle(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> isize {
    let Some(wish) = wish(nr, args) else {
        return pass(nr, args);
    };
    let (before, was_quiet) = enter(thread, &wish);
    // A signal that has come meanwhile may be one that ends the process, as it cannot
    // later on.
    // SAFETY: a field of ours, which the handler writes.
    let waits = unsafe { core::ptr::read_volatile(&raw const thread.pending) } != 0;
    let result = if !waits {
        pass(nr, args)
    } else {
        vmcall::ABORTED
    };
    if result < 0 || (wish.may_name_a_thread && result > 0) {
        leave(thread, &before, was_quiet);
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

/// What each thread was confined by, in the order of the list.
type Before = Vec<(*mut Thread, u64)>;

/// Makes ready, and takes the wish for granted: the calls between the kernel's consent
/// and our knowledge of it must not be made. Returns what was before.
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
        // It forbids to read the counter, too.
        time::allow_ticks(false);
    }
    let next = filter::share(next);
    let me = thread.area.self_ptr;
    let mut before = Before::new();
    for one in vm.threads.addresses() {
        if wish.on_all || *one as u64 == me {
            // SAFETY: the list holds live threads, and the VM lock is held.
            let confined = unsafe { &(**one).area.filters };
            let old = confined.swap(next, core::sync::atomic::Ordering::AcqRel);
            before.push((*one, old));
        }
    }
    vm.update_filters();
    let was_quiet = vm.filtered;
    // The memory of a vfork child is its parent's, whom nothing confines.
    if !thread.borrowed_memory {
        (vm.library.closed, vm.filtered) = (true, true);
        mem::use_old_flags();
        userfault::end();
    }
    (before, was_quiet)
}

/// The kernel has refused.
fn leave(thread: &Thread, before: &Before, was_quiet: bool) {
    let mut vm = vm::lock();
    for (one, old) in before {
        if vm.threads.addresses().contains(one) {
            // SAFETY: in the list, so it is alive.
            unsafe {
                (**one)
                    .area
                    .filters
                    .store(*old, core::sync::atomic::Ordering::Release)
            };
        }
    }
    vm.update_filters();
    vm.filtered = was_quiet;
    if !was_quiet {
        vm.library.closed = false;
        who_kills(thread, true, true);
    }
}

/// All that must be done before `next` is in force.
fn prepare(vm: &mut Vm, thread: &Thread, next: &Confinement, killable: bool) {
    ppin_translate::save::at_end(vm);
    vm.code.admit_all();
    vm.code.images.learn_shared();
    time::mark();
    ppin_process::report::program::remember();
    ppin_process::report::kept::keep(&vm.config, next);
    if stock::is_needed(next) {
        stock::fill();
    }
    let mappable = may(next, c::__NR_mmap, &stock::mapping(mem::RWX));
    vm.code.lay_in(!mappable);
    if !may_guard(next) {
        changes::give_up_guards(vm);
    }
    let returns = may(next, c::__NR_rt_sigreturn, &[0; 6]);
    // To the kernel no signal with a handler is death.
    let dies = !killable && DEATH.iter().all(|nr| may(next, *nr, &[0; 6]));
    who_kills(thread, returns, dies);
}

/// Calls by which a process dies of a signal ([`fatal`]).
const DEATH: [u32; 5] = [
    c::__NR_rt_sigaction,
    c::__NR_rt_sigprocmask,
    c::__NR_getpid,
    c::__NR_gettid,
    c::__NR_tgkill,
];

/// Whether pages can be made read-only and given back.
fn may_guard(next: &Confinement) -> bool {
    let protect = |protection: u32| {
        let args = [0x1000, 0x1000, protection as usize, 0, 0, 0];
        may(next, c::__NR_mprotect, &args)
    };
    protect(mem::RX) && protect(mem::RWX)
}

/// How handlers return and who ends the process; the kernel's dispositions follow.
fn who_kills(thread: &Thread, returns: bool, dies: bool) {
    if ppin_process::signal::restorer::return_by_hand(!returns)
        | ppin_process::signal::kernel_kills::set(!dies)
    {
        ppin_process::signal::take_over(&thread.process().actions);
    }
}
