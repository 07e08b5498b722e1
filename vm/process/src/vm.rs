//! The state of the VM in one process, under one lock.
//!
//! The lock is held across no access to app memory that may sleep and no blocking
//! call. A thread may die while it waits for it, never while it holds it: signals
//! that arrive in the VM wait.

use crate::config::Config;
use crate::report::stats::Stats;
use crate::thread::Threads;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_api::Tool;
use ppin_codecache::unit::Library;
use ppin_codecache::{CodeCache, Figures};
use ppin_os::lock::{Guard, Mutex};
use ppin_os::{Errno, filter, heap, proc};

/// See the module.
pub struct Vm {
    /// What the launcher asked for.
    pub config: Config,
    /// All code, and the app memory that it was made from.
    pub code: CodeCache,
    /// The databases.
    pub library: Library,
    /// Live threads.
    pub threads: Threads,
    /// Counter values of threads that have ended, by displacement.
    pub ended: crate::ended::Ended,
    /// Restartable sequences.
    pub rseq: crate::sequences::Sequences,
    /// Figures for `--stats`.
    pub stats: Stats,
    /// Why some lines are missing in the file of `--log`.
    pub lost_log: Option<Errno>,
    /// The tool.
    pub tool: &'static dyn Tool,
    /// The process has written its report, or must not.
    pub ended_already: bool,
    /// The app filters system calls: the VM makes none that the app did not ask for.
    pub filtered: bool,
}

// SAFETY: the raw pointers are to thread mappings; all use is under the lock.
unsafe impl Send for Vm {}

static VM: Mutex<Option<Vm>> = Mutex::new(None);
static RUNTIME: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// The right to use the VM.
pub struct Locked(Option<Guard<'static, Option<Vm>>>);

impl core::ops::Deref for Locked {
    type Target = Vm;
    fn deref(&self) -> &Vm {
        self.0
            .as_ref()
            .and_then(|guard| guard.as_ref())
            .expect("the VM is initialised at boot")
    }
}

impl core::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Vm {
        self.0
            .as_mut()
            .and_then(|guard| guard.as_mut())
            .expect("the VM is initialised at boot")
    }
}

/// Waits for the VM.
#[must_use]
pub fn lock() -> Locked {
    let (guard, over) = VM.lock_or_take_over();
    let mut locked = Locked(Some(guard));
    // Who ended in good order had it to the end.
    if over && !locked.ended_already {
        locked.take_over();
    }
    locked
}

/// For a last report: waits a little, then takes the VM as it is, whoever holds it.
#[must_use]
pub fn lock_at_any_price() -> Locked {
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        if let Some(guard) = VM.try_lock() {
            return Locked(Some(guard));
        }
        ppin_os::time::sleep_a_millisecond();
    }
    VM.reset();
    lock()
}

impl Locked {
    /// Runs `f`, which takes the lock itself, without it.
    pub fn unlocked<T>(&mut self, f: impl FnOnce() -> T) -> T {
        self.0 = None;
        let result = f();
        self.0 = lock().0;
        result
    }
}

/// Sets up the VM; `runtime` is the range of the runtime's own code and data.
pub fn init(vm: Vm, runtime: (u64, u64)) {
    RUNTIME[0].store(runtime.0, Ordering::Relaxed);
    RUNTIME[1].store(runtime.1, Ordering::Relaxed);
    *VM.lock() = Some(vm);
}

/// The lock alone.
pub fn word() -> &'static ppin_os::lock::Word {
    VM.word()
}

/// Lets all who wait for the lock look again.
pub fn wake_all() {
    VM.wake_all();
}

/// Frees the lock in a forked child, whose parent held it for both.
pub fn unlock_in_child() {
    VM.reset();
    ppin_os::lock::alone();
}

/// Where the runtime lies: start and end.
#[must_use]
pub fn runtime() -> (u64, u64) {
    (
        RUNTIME[0].load(Ordering::Relaxed),
        RUNTIME[1].load(Ordering::Relaxed),
    )
}

/// Whether `pc` is the runtime's.
#[must_use]
pub fn is_runtime(pc: u64) -> bool {
    let (start, end) = runtime();
    (start..end).contains(&pc)
}

/// A pc in words, for reports.
#[must_use]
pub fn describe(pc: u64) -> String {
    let base = RUNTIME[0].load(Ordering::Relaxed);
    if is_runtime(pc) {
        alloc::format!("runtime+{:#x}", pc - base)
    } else {
        alloc::format!("{pc:#x}")
    }
}

/// Whether `pid` is a thread or process that runs in this memory.
pub fn is_ours(pid: i32) -> bool {
    pid == proc::pid() || lock().threads.all().any(|thread| thread.tid == pid)
}

impl Vm {
    /// The tool, for callers that do not hold the lock: it lives as long as the VM,
    /// and is not written to after it was configured.
    #[must_use]
    pub fn tool_ref(&self) -> &'static dyn Tool {
        self.tool
    }

    /// This process is a forked child: what its parent has done is not its own.
    pub fn forked(&mut self) {
        let time = &self.stats.time;
        let (start_ticks, start_ns) = (time.start_ticks, time.start_ns);
        self.stats = Stats::default();
        self.code.figures = Figures::default();
        self.stats.time.start_ticks = start_ticks;
        self.stats.time.start_ns = start_ns;
        self.config.started_ns = ppin_os::time::monotonic_ns();
        self.code.leave_to_parent();
        self.ended_already = false;
        self.log_of_child();
    }

    /// The threads are others, or are confined anew.
    pub fn learn_filters(&self) {
        if filter::learn(self.threads.all().map(|thread| &thread.area)) {
            // The last opportunity.
            wake_all();
        }
    }

    /// Who had the VM was killed, and may have left any of it half changed. (It was another
    /// process: [`ppin_os::lock`].) What can be made again goes, and is not saved.
    fn take_over(&mut self) {
        // A list that was about to grow may still lie where it was freed.
        heap::anew();
        self.log(format_args!(
            "the holder of the lock is gone: all fresh code goes"
        ));
        self.code.start_over();
        self.rseq.forget_copies();
    }
}
