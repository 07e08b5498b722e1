//! fork, vfork, clone, clone3.
//!
//! A child with a copy of the memory is a copy of this process in the middle of the VM: it goes on,
//! on its copy of the VM stack. A child in the *same* memory gets a [`Thread`] of its own first,
//! and starts on that one's VM stack with all signals blocked; the stack that the app has passed
//! becomes its rsp later.

use crate::life::leave::gather;
use crate::syscall::pages;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use ppin_abi::boot::flag;
use ppin_os::{Errno, Permit, c, filter, heap, lock, mem, peek, proc, signals, userfault};
use ppin_process::gate::vmcall;
use ppin_process::signal::{HOLD_ALL, HOLD_FAULTS_TOO, kernel_mask};
use ppin_process::thread::{Thread, reg};
use ppin_process::vm::{self, Vm};
use ppin_process::{buffers, counters};
use ppin_translate::hints;

/// A request in the form of clone3(2); requests of other calls are converted to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// `struct clone_args`: flags, pidfd, child_tid, parent_tid, exit_signal, stack,
    /// stack_size, tls, set_tid, set_tid_size, cgroup.
    words: [u64; 11],
    /// Size of the structure that the app has passed; 0: it has used another call.
    size: usize,
    /// `CLONE_CLEAR_SIGHAND`, which is not passed to the kernel, because the handlers there are the
    /// VM's.
    clears_handlers: bool,
}

const FLAGS: usize = 0;
const CHILD_TID: usize = 2;
const EXIT_SIGNAL: usize = 4;
const STACK: usize = 5;
const STACK_SIZE: usize = 6;
const TLS: usize = 7;
/// Smallest `struct clone_args`.
const VER0: usize = 64;
/// (A flag of clone3(2) only.)
const CLONE_CLEAR_SIGHAND: u64 = c::CLONE_CLEAR_SIGHAND;

impl Request {
    /// fork and vfork: the low byte of `flags` is the exit signal.
    #[must_use]
    pub(crate) fn plain(flags: u64) -> Self {
        Self::clone(&[flags as usize, 0, 0, 0, 0, 0])
    }

    /// clone(2): flags, stack, parent_tid, child_tid, tls.
    #[must_use]
    pub(crate) fn clone(args: &[usize; 6]) -> Self {
        let [flags, stack, parent_tid, child_tid, tls, _] = args.map(|a| a as u64);
        let mut words = [0; 11];
        words[FLAGS] = flags & !0xff;
        words[1] = parent_tid;
        words[2] = child_tid;
        words[3] = parent_tid;
        words[EXIT_SIGNAL] = flags & 0xff;
        words[STACK] = stack;
        words[TLS] = tls;
        Self {
            words,
            size: 0,
            clears_handlers: false,
        }
    }

    /// clone3(2), with the checks of the kernel's `copy_struct_from_user`, and those of its
    /// `clone3_args_valid` for arguments that the VM changes.
    ///
    /// # Errors
    /// The result for the app.
    pub(crate) fn clone3(at: u64, size: usize) -> Result<Self, isize> {
        const KNOWN: usize = 88;
        if size > mem::PAGE as usize {
            return Err(Errno::E2BIG.raw());
        }
        if size < VER0 {
            return Err(Errno::EINVAL.raw());
        }
        if size > KNOWN {
            reject_unknown(at.wrapping_add(KNOWN as u64), size - KNOWN)?;
        }
        let size = size.min(KNOWN);
        let mut bytes = [0; KNOWN];
        if peek::read(at, &mut bytes[..size]) != size {
            return Err(Errno::EFAULT.raw());
        }
        let mut words = [0; 11];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let clears_handlers = words[FLAGS] & CLONE_CLEAR_SIGHAND != 0;
        words[FLAGS] &= !CLONE_CLEAR_SIGHAND;
        let request = Self {
            words,
            size,
            clears_handlers,
        };
        let both = clears_handlers && request.flag(c::CLONE_SIGHAND);
        if both || !request.has_valid_stack() {
            return Err(request.refused());
        }
        Ok(request)
    }

    /// Whether the stack is valid: address and size given, or neither.
    fn has_valid_stack(&self) -> bool {
        let [stack, size] = [STACK, STACK_SIZE].map(|n| self.words[n]);
        let end = stack.checked_add(size).filter(|end| *end <= pages::END);
        (stack == 0) == (size == 0) && end.is_some()
    }

    /// The kernel's error for a request with invalid arguments: it may find another error first.
    fn refused(&self) -> isize {
        let mut words = self.words;
        words[FLAGS] |= u64::from(self.clears_handlers) * CLONE_CLEAR_SIGHAND;
        let args = [words.as_ptr() as usize, self.size, 0, 0, 0, 0];
        // SAFETY: the call fails.
        unsafe { vmcall::plain(c::__NR_clone3, &args) }
    }

    fn flag(&self, flag: u32) -> bool {
        self.words[FLAGS] & u64::from(flag) != 0
    }

    /// The app's stack pointer for the child, 0: the parent's.
    fn stack(&self) -> u64 {
        // (clone(2) takes the top of the stack.)
        let size = if self.size == 0 {
            0
        } else {
            self.words[STACK_SIZE]
        };
        self.words[STACK].wrapping_add(size)
    }
}

/// The `len` bytes at `at`, at most a page, are unknown to the kernel, and must be 0.
///
/// # Errors
/// The result for the app.
#[cold]
#[inline(never)] // a page of the VM's stack, which a forked child would have to copy
fn reject_unknown(at: u64, len: usize) -> Result<(), isize> {
    let mut bytes = [0; mem::PAGE as usize];
    let read = peek::read(at, &mut bytes[..len]);
    if bytes[..read].iter().any(|b| *b != 0) {
        // (The kernel reads no further in this case.)
        return Err(Errno::E2BIG.raw());
    }
    if read == len {
        Ok(())
    } else {
        Err(Errno::EFAULT.raw())
    }
}

/// Makes the call; returns in the parent (and in a child that has memory of its
/// own) with the result for rax.
pub(crate) fn run(thread: &mut Thread, request: &mut Request) -> isize {
    if request.flag(c::CLONE_VM) {
        share(thread, request)
    } else {
        fork(thread, request)
    }
}

/// Number and arguments for the kernel, with `stack` (bottom, size) for the child.
fn kernel_call(request: &mut Request, stack: Option<(u64, u64)>) -> (u32, [usize; 6]) {
    let (bottom, size) = stack.unwrap_or((0, 0));
    if request.size != 0 {
        request.words[STACK] = bottom;
        request.words[STACK_SIZE] = size;
        return (
            c::__NR_clone3,
            [request.words.as_ptr() as usize, request.size, 0, 0, 0, 0],
        );
    }
    let w = request.words.map(|w| w as usize);
    let flags = w[FLAGS] | w[EXIT_SIGNAL];
    (
        c::__NR_clone,
        [flags, (bottom + size) as usize, w[3], w[2], w[TLS], 0],
    )
}

/// Makes a child with a copy of the memory. (Apart from [`share`], whose frame is large: both processes
/// copy the pages of the stack that they go on with.)
#[inline(never)]
fn fork(thread: &mut Thread, request: &mut Request) -> isize {
    let stack = request.stack();
    let (nr, args) = kernel_call(request, None);
    let clears_handlers = request.clears_handlers;
    let before = signals::set_mask(HOLD_ALL);
    let mut vm = vm::lock();
    learn(&mut vm);
    let result = heap::with_heap_locked(|heap| {
        userfault::fork([vm::word(), heap], || {
            // SAFETY: the child has its own copy of all memory, and goes on from here.
            unsafe { Permit::for_the_app(nr, args).execute() }
        })
    });
    if result == 0 {
        core::mem::forget(vm);
        in_child(thread, stack);
        if clears_handlers {
            thread.process().clear_handlers();
            thread.process().install_cleared();
        }
    } else {
        if result > 0 {
            vm.code_mut().seal();
        }
        drop(vm);
    }
    signals::set_mask(before);
    result
}

/// Does for the next child what earlier ones had to ask for.
fn learn(vm: &mut Vm) {
    // The VM makes no calls that the app did not ask for under filters of its own, and each entry
    // begins a trace where instructions are counted from there.
    if !vm.is_filtered() && vm.config().flags & flag::LOCKSTEP == 0 {
        hints::follow(vm);
        vm.hints_mut().before_fork();
        vm.code_mut().before_fork();
    }
}

/// Sets up the VM in the child of a fork: it has one thread, and nothing to report yet.
fn in_child(thread: &mut Thread, stack: u64) {
    vm::unlock_in_child();
    if stack != 0 {
        thread.regs.gpr[reg::RSP] = stack;
    }
    proc::remember_pid();
    gather::forget();
    thread.tid = proc::tid();
    thread.user_dispatch = Default::default();
    thread.signals.held.clear();
    thread.signals.sent.clear();
    thread.process().held.clear();
    let mut vm = vm::lock();
    vm.keep_only_thread(thread);
    vm.update_filters();
    vm.reset_after_fork();
    crate::syscall::locked::forked();
    vm.code_mut().seal();
    counters::reset(&mut vm, thread);
    buffers::forget(thread);
    let tool = vm.tool();
    drop(vm);
    tool.fork_child(&ppin_hosting::host::EngineHost);
}

/// Makes a child in the same memory: a thread, or a process that will exec soon.
#[inline(never)]
fn share(thread: &mut Thread, request: &mut Request) -> isize {
    let process = !request.flag(c::CLONE_THREAD);
    lock::begin_company();
    if process {
        ppin_process::gate::table::watch_kills();
        forget_dead();
        let elsewhere =
            request.flag(c::CLONE_NEWPID) || crate::life::cannot_follow::pid_namespace_pending();
        let vm = vm::lock();
        heap::with_heap_locked(|_| lock::begin_sharing(elsewhere));
        drop(vm);
    }
    let Some(child) = prepare(thread, request) else {
        if process {
            lock::end_sharing();
        }
        return Errno::ENOMEM.raw();
    };
    // SAFETY: just created; the child does not run yet.
    let stack = unsafe { (*child).vm_stack() };
    let vfork = request.flag(c::CLONE_VFORK);
    let (nr, args) = kernel_call(request, Some(stack));
    // The child begins with its parent's gs and without a signal stack: it must get no signal, not
    // even one with the number of a fault, before it has its own.
    let before = signals::set_mask(HOLD_FAULTS_TOO);
    // SAFETY: the child starts on its own VM stack with its own structure.
    let result = unsafe { ppin_process::gate::clone(nr, args.as_ptr(), child.cast(), start) };
    if result < 0 || vfork && process {
        signals::set_mask(HOLD_ALL);
        // A vfork child has executed a program or ended by now, or the call has failed. (A thread
        // that was waited for has removed its structure.)
        // SAFETY: nobody runs with the structure any more; the helper of its exec is waited for.
        unsafe { free(child) };
    }
    signals::set_mask(before);
    result
}

/// Makes the child's structure and adds it to the list of threads.
fn prepare(parent: &Thread, request: &Request) -> Option<*mut Thread> {
    let mut vm = vm::lock();
    let c = vm.make_thread(parent.area.entry).ok()?;
    c.regs = parent.regs;
    c.xmm = parent.xmm;
    c.area.calls.routines = parent.area.calls.routines;
    c.area.calls.code = parent.area.calls.code;
    c.area.app_gs_base = parent.area.app_gs_base;
    c.gs_selector = parent.gs_selector;
    c.regs.gpr[reg::RAX] = 0;
    if request.stack() != 0 {
        c.regs.gpr[reg::RSP] = request.stack();
    }
    c.resume_pc = parent.resume_pc;
    c.resume_context = parent.resume_context;
    c.epoch = vm.code().epoch();
    c.area.filters = filter::inherited(&parent.area);
    c.signals.mask = parent.signals.mask;
    c.signals.trap_flag = parent.signals.trap_flag;
    let thread = request.flag(c::CLONE_THREAD);
    if request.flag(c::CLONE_VFORK) {
        c.signals.alt = parent.signals.alt;
    }
    if request.flag(c::CLONE_CHILD_CLEARTID) {
        c.clear_child_tid = request.words[CHILD_TID];
    }
    c.borrowed_memory = !thread;
    c.creator_waits = request.flag(c::CLONE_VFORK);
    c.set_process(parent, request.flag(c::CLONE_SIGHAND));
    if request.clears_handlers {
        c.process().clear_handlers();
    }
    vm.log(format_args!("thread {} begins", c.index));
    vm.add_thread(c);
    Some(c)
}

/// Frees the structures of dead children that were processes of their own in this memory.
fn forget_dead() {
    let gone = |thread: &&*mut Thread| {
        // SAFETY: the list holds valid structures, and the VM lock is held.
        let thread = unsafe { &***thread };
        thread.borrowed_memory
            && !thread.creator_waits
            && thread.tid != 0
            && !proc::exists(thread.tid)
    };
    let dead: Vec<_> = vm::lock()
        .threads()
        .addresses()
        .iter()
        .filter(gone)
        .copied()
        .collect();
    for child in dead {
        // SAFETY: it has been waited for.
        unsafe { free(child) };
    }
}

/// Frees the structure of a child that no longer uses this memory.
///
/// # Safety
/// The child is gone.
unsafe fn free(child: *mut Thread) {
    // SAFETY: the mapping still exists, and no other code uses it.
    let c = unsafe { &mut *child };
    c.finish_exec();
    ppin_hosting::buffers::of_thread(c);
    let tool = vm::lock().tool();
    tool.thread_fini(&ppin_hosting::host::EngineHost, ppin_api::ThreadId(c.index));
    let mut vm = vm::lock();
    let rests = vm.remove_thread(c);
    vm.update_filters();
    counters::retire(&mut vm, c);
    c.drop_process();
    if c.borrowed_memory {
        lock::end_sharing();
    }
    if rests {
        return c.gone.store(1, Ordering::Release);
    }
    let (base, len) = c.map;
    // SAFETY: no code uses the mapping any more.
    let _ = unsafe { mem::unmap(base, len) };
}

/// First routine of a child, on its VM stack.
///
/// # Safety
/// Reached from the gate only, with the structure made for this child.
unsafe extern "C" fn start(thread: *mut ()) -> ! {
    // SAFETY: the gate passes the structure made for this child.
    let thread = unsafe { &mut *thread.cast::<Thread>() };
    thread.make_current();
    thread.process().install_cleared();
    signals::set_mask(HOLD_ALL);
    let tool = vm::lock().tool();
    tool.thread_start(
        &ppin_hosting::host::EngineHost,
        ppin_api::ThreadId(thread.index),
    );
    signals::set_mask(kernel_mask(thread.signals.mask));
    // SAFETY: registers, pc and mask are set.
    unsafe { ppin_process::gate::enter_first() }
}
