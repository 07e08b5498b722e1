//! The structure of one app thread.
//!
//! All memory of one thread lies in one mapping. `gs` points at the last field of [`Thread`], the area
//! that emitted code accesses.
//!
//! ```text
//!           buffers         for records, if the tool has any (`crate::buffers`)
//!           guard page
//!           VM stack        grows down
//!           guard page
//!           signal stack    the kernel's alternate stack for our handlers
//!           Thread          page aligned, with pages in it that are guarded, too
//!           counters        the tool's, reserved, touched as it counts (`crate::counters`)
//! ```

use super::process::Process;
use super::regs::{Reason, Regs, reg};
use super::user_dispatch::UserDispatch;
use crate::signal::stack::install_stack;
use crate::signal::state::SignalState;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64};
use ppin_abi::area::{Area, BARRED, BARRED_LEN, ENTRIES, RETURNS, RETURNS_LEN, Rseq};
use ppin_abi::buffers;
use ppin_abi::counters::CELLS;
use ppin_abi::spills::SpillSet;
use ppin_abi::thread::BEFORE;
use ppin_os::{Kernel, mem, proc};

/// Of so many indirect jumps that the thread's own table does not know one is put there: which one
/// is a matter of chance, so those that are made often are known soon.
const NEAR_PERIOD: u64 = 64;

/// Jumps through cells that go elsewhere than was predicted before one is predicted anew.
const PREDICTION_PERIOD: u64 = 64;

/// Jumps by tables that come to cases that are not known before the first is asked for. Short programs are over
/// then: they would not have been worth it.
const CASES_AT_FIRST: u64 = 16 << 10;

/// Bytes of VM stack.
pub const VM_STACK: u64 = 256 << 10;
/// Bytes of signal stack: several nested frames with all vector state.
pub const SIGNAL_STACK: u64 = 128 << 10;

/// The structure of one app thread. The gate's assembly knows the field order up to `vm_sp`.
#[derive(Debug)]
#[repr(C)]
pub struct Thread {
    /// App registers while in the VM.
    pub regs: Regs,
    /// xmm0 to xmm15 while in the VM.
    pub xmm: [[u64; 2]; 16],
    /// The [`Reason`] of the last VM entry.
    pub reason: u64,
    /// Operand of the [`Reason`].
    pub operand: u64,
    /// Cache address at which the VM enters the cache.
    pub target: u64,
    /// Top of the VM stack.
    pub vm_sp: u64,
    /// Nonzero: a signal is pending, to be delivered before the cache is entered.
    pub pending: u64,
    /// Cache address that the VM was about to enter when `pending` turned it away.
    pub entering: u64,
    /// App pc for [`Reason::Resume`].
    pub resume_pc: u64,
    /// Context of the translation for [`Reason::Resume`].
    pub resume_context: u32,
    /// Dense number of the thread, from 0.
    pub index: u32,
    /// Kernel thread id.
    pub tid: i32,
    /// The process shares its memory with the one that created it (vfork).
    pub borrowed_memory: bool,
    /// Its creator waits for its end or exec (`CLONE_VFORK`), and then frees this structure.
    pub creator_waits: bool,
    /// Cache generation that this thread was last seen to know (see [`ppin_codecache::fresh`]).
    pub epoch: u64,
    /// Selector of the app's gs.
    pub gs_selector: u16,
    /// State shared with the other threads of its process.
    pub(super) process: *mut Process,
    /// Signal state.
    pub signals: SignalState,
    /// The thread's Syscall User Dispatch.
    pub user_dispatch: UserDispatch,
    /// The app's rseq(2) registration with the flags that unregister it: address, length, flags,
    /// signature; address 0: none.
    pub rseq_call: [usize; 4],
    /// Address at which the kernel clears the thread's id when it ends (set_tid_address(2)); 0:
    /// none, or unknown.
    pub clear_child_tid: u64,
    /// Up to where the records of each buffer have been handed to the tool (`crate::buffers`).
    pub claimed: [AtomicU64; buffers::MAX_BUFFERS],
    /// The mapping that holds the thread's memory: start, length.
    pub map: (u64, u64),
    /// By what power of 2 longer it waits before the next jump is predicted ([`Thread::wait_to_predict`]).
    pub unpredicted: u32,
    /// Not 0: the thread waits in a system call, of the gate, after which it comes to the VM, or in one that the
    /// VM makes for it. Until then it reads nothing of the cache but the record that `area.scratch` names. Set
    /// with the VM lock by who flushes, or by the thread itself; cleared by that, with the lock.
    pub waits: AtomicU32,
    /// Not 0: what the thread goes on at is sought since it has waited in the VM, at the epoch before this.
    pub awake_since: AtomicU64,
    /// Not 0: the thread has ended, and touches its memory no more ([`super::resting`]).
    pub gone: AtomicU32,
    /// The area that emitted code accesses through gs.
    pub area: Area,
}

const _: () = assert!(offset_of!(Thread, area) == BEFORE as usize);

/// Offsets of the parts in a thread's mapping.
struct Layout {
    guard: u64,
    vm_top: u64,
    signal_stack: u64,
    thread: u64,
    len: u64,
}

/// Bytes from the thread to its return cache.
const RETURNS_FROM: u64 = (BEFORE + RETURNS) as u64;

/// Bytes from the thread to what returns must not read.
const BARRED_FROM: u64 = (BEFORE + BARRED) as u64;

/// Counters lie where emitted code expects them.
const _: () = assert!(size_of::<Area>() <= CELLS as usize);

/// Bytes from the first guard page to the thread. Buffers end so far below it that they do not reach
/// it.
const STACKS: u64 = 2 * mem::PAGE + VM_STACK + SIGNAL_STACK;
const _: () = assert!(STACKS <= buffers::BELOW as u64);

fn layout(counter_bytes: u64, buffers: usize) -> Layout {
    let guard = match buffers {
        0 => 0,
        count => buffers::bytes(count) + u64::from(buffers::BELOW) - STACKS,
    };
    let vm_top = guard + mem::PAGE + VM_STACK;
    let signal_stack = vm_top + mem::PAGE;
    let thread = signal_stack + SIGNAL_STACK;
    let counters = thread + u64::from(BEFORE + CELLS);
    Layout {
        guard,
        vm_top,
        signal_stack,
        thread,
        len: counters + mem::page_up(counter_bytes),
    }
}

/// Guards `len` bytes from `page` on, unless a filter of the app forbids that. Newer kernels need no mapping of
/// its own for it (`MADV_GUARD_INSTALL`, madvise(2)). That matters because each process that shares
/// this memory walks all mappings when it ends, and there may be thousands of threads.
///
/// # Safety
/// As [`mem::protect`].
unsafe fn guard(page: u64, len: u64) -> ppin_os::Result<()> {
    let args = |last: u32| [page as usize, len as usize, last as usize, 0, 0, 0];
    let kernel = Kernel::of_this_thread();
    let may = |nr, args| kernel.permit(nr, args).is_ok();
    let guard = args(ppin_os::c::MADV_GUARD_INSTALL);
    let install = || {
        // SAFETY: the caller's promise.
        unsafe { ppin_os::call(ppin_os::c::__NR_madvise, guard) }
    };
    if may(ppin_os::c::__NR_madvise, guard) && install().is_ok() {
        return Ok(());
    }
    if !may(ppin_os::c::__NR_mprotect, args(mem::NONE)) {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { mem::protect(page, len, mem::NONE) }
}

/// Makes private pages those of a new mapping (madvise(2)).
fn forget_contents(start: u64, len: u64) -> ppin_os::Result<()> {
    if len == 0 {
        return Ok(());
    }
    let advice = ppin_os::c::MADV_DONTNEED as usize;
    let args = [start as usize, len as usize, advice, 0, 0, 0];
    // SAFETY: memory of ours, which nobody uses.
    unsafe { ppin_os::call(ppin_os::c::__NR_madvise, args) }.map(drop)
}

impl Thread {
    /// Maps a new thread structure with `counter_bytes` of counters and so many buffers.
    ///
    /// # Errors
    /// No memory.
    pub fn create(
        index: u32,
        counter_bytes: u64,
        buffers: usize,
        entries: [u64; ENTRIES],
    ) -> ppin_os::Result<*mut Self> {
        let l = layout(counter_bytes, buffers);
        let base = ppin_os::place::anywhere_aligned(l.len, l.thread + RETURNS_FROM, RETURNS_LEN)?;
        // SAFETY: pages of a fresh mapping, which nobody uses.
        unsafe {
            guard(base + l.guard, mem::PAGE)?;
            guard(base + l.vm_top, mem::PAGE)?;
            guard(base + l.thread + BARRED_FROM, u64::from(BARRED_LEN))?;
        }
        let thread = (base + l.thread) as *mut Self;
        if index == 0 {
            // What the first thread gets filled in at once, behind the return cache.
            let tables = offset_of!(Self, area.near)..offset_of!(Self, area) + size_of::<Area>();
            let [start, end] = [tables.start, tables.end].map(|at| thread as u64 + at as u64);
            mem::ask_for(start, end);
        }
        // SAFETY: fresh zero pages are a valid Thread (integers and plain arrays).
        unsafe { &mut *thread }.begin(index, (base, &l), entries);
        Ok(thread)
    }

    /// Makes what a thread that has ended has left that of a new one, as [`Thread::create`] does
    /// with the same numbers of counters and buffers. Its tables of returns and indirect jumps stay:
    /// they say where code is, which is true for all threads.
    ///
    /// # Errors
    /// Its counters could not be cleared.
    ///
    /// # Safety
    /// Nobody else uses the memory.
    pub unsafe fn renew(
        thread: *mut Self,
        index: u32,
        counter_bytes: u64,
        buffers: usize,
        entries: [u64; ENTRIES],
    ) -> ppin_os::Result<()> {
        let l = layout(counter_bytes, buffers);
        // SAFETY: the caller's promise.
        let (base, len) = unsafe { (*thread).map };
        debug_assert_eq!(len, l.len, "all threads of a run have the same layout");
        let counters = base + l.thread + u64::from(BEFORE + CELLS);
        forget_contents(counters, base + len - counters)?;
        let short = offset_of!(Self, area.barred);
        // SAFETY: zeroes are a valid Thread, and nobody else uses it.
        unsafe {
            thread.cast::<u8>().write_bytes(0, short);
            (*thread).begin(index, (base, &l), entries);
        }
        Ok(())
    }

    /// A target has been brought near, or was to be. The next one will be later, by a power of 2.
    pub fn wait_to_bring_near(&mut self, longer: u32) {
        self.area.near_countdown = NEAR_PERIOD << longer;
    }

    /// A jump through a cell has been predicted, in `kept` code or in new code, or was to be. The next one will
    /// be the later, the more often there was nothing to predict: some cells change, and to ask for them in
    /// vain takes long. In kept code it is later, too: most that matters was known from earlier runs.
    pub fn wait_to_predict(&mut self, kept: Option<bool>) {
        /// A power of 2.
        const RARELY: u32 = 4;
        const MOST: u32 = 12;
        self.unpredicted = match kept {
            Some(false) => 0,
            Some(true) => RARELY,
            None => (self.unpredicted + 1).min(MOST),
        };
        self.area.prediction_countdown = PREDICTION_PERIOD << self.unpredicted;
    }

    /// Fills in what is not zero in a new thread, in a mapping at `base`.
    fn begin(&mut self, index: u32, (base, l): (u64, &Layout), entries: [u64; ENTRIES]) {
        self.area.self_ptr = core::ptr::from_ref(&self.area) as u64;
        self.area.returns_at = self.area.self_ptr + u64::from(RETURNS);
        self.area.entry = entries;
        self.area.rseq = Rseq::NONE;
        self.area.near_countdown = NEAR_PERIOD;
        self.area.prediction_countdown = PREDICTION_PERIOD;
        self.area.cases_countdown = CASES_AT_FIRST;
        self.vm_sp = base + l.vm_top;
        self.area.calls.stack = base + l.vm_top;
        self.area.calls.thread = u64::from(index);
        self.index = index;
        self.regs.mxcsr = 0x1f80;
        self.map = (base, l.len);
        self.signals.stack = (base + l.signal_stack, SIGNAL_STACK);
        crate::buffers::forget(self);
    }

    /// The VM's stack: start, length.
    #[must_use]
    pub fn vm_stack(&self) -> (u64, u64) {
        (self.vm_sp - VM_STACK, VM_STACK)
    }

    /// Makes this the structure of the running thread: sets gs, the thread id and the signal stack.
    pub fn make_current(&mut self) {
        ppin_os::segment::set_gs_base(self.area.self_ptr);
        self.tid = proc::tid();
        install_stack(&self.signals);
    }

    /// Why the VM was entered last.
    #[must_use]
    pub fn reason(&self) -> Reason {
        Reason::of(self.reason)
    }

    /// Value of an app register (hardware number).
    #[must_use]
    pub fn get(&self, register: usize) -> u64 {
        self.regs.gpr[register]
    }

    /// Puts the app's `registers`, by hardware number, where code looks for those that it has in slots.
    pub fn fill_slots(&mut self, spilled: SpillSet, registers: impl Fn(usize) -> u64) {
        for (slot, register) in spilled.iter() {
            self.area.spill[slot.number()] = registers(usize::from(register));
        }
    }

    /// System call arguments as the app passed them.
    #[must_use]
    pub fn syscall_args(&self) -> [usize; 6] {
        use reg::{R8, R9, R10, RDI, RDX, RSI};
        [RDI, RSI, RDX, R10, R8, R9].map(|r| self.regs.gpr[r] as usize)
    }

    /// This thread's counter at byte displacement `disp` from `gs`.
    #[must_use]
    pub fn counter(&self, disp: u64) -> u64 {
        // SAFETY: displacements come from the engine's own counter layout, inside the mapping.
        unsafe { ((self.area.self_ptr + disp) as *const u64).read_volatile() }
    }
}

/// The structure of the thread whose signal stack begins at `base`.
///
/// # Safety
/// `base` is the signal stack that the kernel has put into a signal frame of the VM, and the caller
/// holds no other reference to the structure.
#[must_use]
pub unsafe fn of_signal_stack<'a>(base: u64) -> &'a mut Thread {
    // SAFETY: a thread's structure lies behind its signal stack.
    unsafe { &mut *((base + SIGNAL_STACK) as *mut Thread) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use ppin_os::peek;

    /// Whether the page at `page` can be read.
    fn is_there(page: u64) -> bool {
        peek::never_fault();
        peek::read(page, &mut [0]) == 1
    }

    #[test]
    fn guard_pages_end_the_stacks_of_a_thread() {
        let thread = Thread::create(3, 0, 0, [0; ENTRIES]).expect("there is memory");
        // SAFETY: just made.
        let thread = unsafe { &mut *thread };
        let (start, len) = thread.map;
        let l = layout(0, 0);
        assert!(!is_there(start) && !is_there(start + l.vm_top));
        let parts = [mem::PAGE, l.vm_top - 8, l.signal_stack, l.thread, l.len - 1];
        assert!(parts.iter().all(|at| is_there(start + at)));
        assert_eq!((thread.vm_sp, len), (start + l.vm_top, l.len));
    }

    #[test]
    fn a_thread_is_found_by_its_signal_stack_and_its_own_address() {
        let thread = testing::thread(4);
        let (base, _) = thread.signals.stack;
        assert_eq!(
            thread.area.self_ptr,
            core::ptr::from_ref(&thread.area) as u64
        );
        // SAFETY: the thread's own stack; the other reference is not used meanwhile.
        let found = unsafe { of_signal_stack(base) };
        assert_eq!(found.index, 4);
    }

    #[test]
    fn buffers_lie_below_the_stacks() {
        use buffers::{BEYOND, END, START, memory};
        let thread = Thread::create(0, 0, 2, [0; ENTRIES]).expect("there is memory");
        // SAFETY: just made.
        let thread = unsafe { &mut *thread };
        let at = |n, position: u32| {
            let position = i64::from(position) + i64::from(memory(n));
            thread.area.self_ptr.wrapping_add_signed(position)
        };
        assert_eq!(at(1, START), thread.map.0);
        assert!(is_there(at(1, START)) && is_there(at(0, END + BEYOND - 1)));
        let (stack, _) = thread.vm_stack();
        assert!(at(0, END + BEYOND) <= stack - mem::PAGE && !is_there(stack - 1));
    }

    #[test]
    fn counters_lie_behind_the_thread_in_pages_of_their_own() {
        let bytes = 3 * mem::PAGE - 8;
        let thread = Thread::create(0, bytes, 0, [0; ENTRIES]).expect("there is memory");
        // SAFETY: just made.
        let thread = unsafe { &mut *thread };
        let cells = u64::from(CELLS);
        assert!((thread.area.self_ptr + cells).is_multiple_of(mem::PAGE));
        let last = cells + bytes - 8;
        assert_eq!(thread.counter(last), 0);
        let end = thread.map.0 + thread.map.1;
        assert_eq!(end, thread.area.self_ptr + cells + 3 * mem::PAGE);
    }
}
