//! The state of the VM in one process, under one lock.
//!
//! The lock is held across no access to app memory that may sleep and no blocking
//! call. A thread may die while it waits for it, never while it holds it: signals
//! that arrive in the VM wait.

use crate::cache::Cache;
use crate::config::Config;
use crate::ibl::IblTable;
use crate::image::{ImageId, Images};
use crate::lock::{Guard, Mutex};
use crate::restore::Bound;
use crate::signal::translate::Maps;
use crate::stats::Stats;
use crate::thread::Thread;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_abi::context::Context;
use ppin_api::Tool;

/// See the module.
pub struct Vm {
    /// What the launcher asked for.
    pub config: Config,
    /// Executable memory of the app.
    pub images: Images,
    /// Fresh code.
    pub cache: Cache,
    /// Indirect branches.
    pub ibl: IblTable,
    /// Live threads.
    pub threads: Vec<*mut Thread>,
    /// Number of the next thread.
    pub next_thread: u32,
    /// Counter values of threads that have ended, by displacement.
    pub ended: crate::tools::counters::Ended,
    /// Pages of app code that we made read-only.
    pub guards: crate::cache::invalidate::Guards,
    /// Restartable sequences.
    pub rseq: crate::rseq::Sequences,
    /// Folders and files of the databases.
    pub store: crate::store::Store,
    /// Figures for `--stats`.
    pub stats: Stats,
    /// Events for `--log`.
    pub log: crate::log::Log,
    /// The tool.
    pub tool: &'static dyn Tool,
    /// The process has written its report, or must not.
    pub ended_already: bool,
    /// Nothing may be saved any more (trust given up, borrowed memory).
    pub no_save: bool,
    /// The app filters system calls: the VM makes none that the app did not ask for.
    pub quiet: bool,
    /// Repairs what somebody left half changed who was killed with the lock.
    pub take_over: fn(&mut Vm),
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
        (locked.take_over)(&mut locked);
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
        crate::sys::time::sleep_a_millisecond();
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
pub fn word() -> &'static crate::lock::Word {
    VM.word()
}

/// Lets all who wait for the lock look again.
pub fn wake_all() {
    VM.wake_all();
}

/// Frees the lock in a forked child, whose parent held it for both.
pub fn unlock_in_child() {
    VM.reset();
    crate::lock::alone();
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

impl Vm {
    /// Whether `addr` lies in fresh code or a mapped unit.
    #[must_use]
    pub fn in_cache(&self, addr: u64) -> bool {
        let fresh = self.cache.chunks.iter().any(|c| c.contains(addr));
        fresh || self.cache.retired.iter().any(|r| r.contains(addr)) || self.in_units(addr)
    }

    /// Whether `addr` lies in a mapped unit.
    #[must_use]
    pub fn in_units(&self, addr: u64) -> bool {
        self.unit_at(addr).is_some()
    }

    /// The unit that holds `addr`, with its image.
    #[must_use]
    pub fn unit_at(&self, addr: u64) -> Option<(ImageId, &Bound)> {
        let images = (0u32..).zip(&self.images.all);
        images
            .flat_map(|(n, i)| i.units.iter().map(move |u| (ImageId(n), u)))
            .find(|(_, u)| u.contains(addr))
    }

    /// The live fresh fragment that holds `addr`.
    #[must_use]
    pub fn fresh_at(&self, addr: u64) -> Option<u32> {
        self.cache
            .chunks
            .iter()
            .find(|c| c.contains(addr))?
            .find(addr)
    }

    /// Entry of the fragment that holds cache address `addr` (hot or cold), if it was made
    /// in this process.
    #[must_use]
    pub fn hot_of(&self, addr: u64) -> Option<u64> {
        match self.fresh_at(addr) {
            Some(id) => Some(self.cache.directory.fragments[id as usize].space.hot),
            None => self.cache.retired_hot(addr),
        }
    }

    /// Base of the image whose code holds cache address `addr` (hot or cold).
    ///
    /// # Panics
    /// If `addr` is no cache address: records come from code that we emitted.
    #[must_use]
    pub fn base_at(&self, addr: u64) -> ImageBase {
        if let Some(id) = self.fresh_at(addr) {
            let image = self.cache.directory.fragments[id as usize].image;
            return self.images.get(image).base;
        }
        if let Some(base) = self.cache.retired_base(addr, &self.images) {
            return base;
        }
        let (image, _) = self.unit_at(addr).expect("a record lies in the cache");
        self.images.get(image).base
    }

    /// The maps of the fragment whose hot code holds `addr`.
    #[must_use]
    pub fn maps_at(&self, addr: u64) -> Option<Maps> {
        if let Some(id) = self.fresh_at(addr) {
            return self.fresh_maps(id, addr);
        }
        if let Some(maps) = self.cache.retired_maps(addr, &self.images) {
            return Some(maps);
        }
        let (image, unit) = self.unit_at(addr)?;
        unit.maps(addr, self.images.get(image))
    }

    /// The maps of the fragment whose hot code holds `addr`, if it may be entered.
    #[must_use]
    pub fn running_maps(&self, addr: u64) -> Option<Maps> {
        if let Some(id) = self.fresh_at(addr) {
            let live = !self.cache.directory.fragments[id as usize].dead;
            return self.fresh_maps(id, addr).filter(|_| live);
        }
        let (image, unit) = self.unit_at(addr)?;
        unit.running_maps(addr, self.images.get(image))
    }

    fn fresh_maps(&self, id: u32, addr: u64) -> Option<Maps> {
        let fresh = &self.cache.directory.fragments[id as usize];
        fresh.maps(addr, self.images.get(fresh.image))
    }

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
        self.stats.time.start_ticks = start_ticks;
        self.stats.time.start_ns = start_ns;
        self.config.started_ns = crate::sys::time::monotonic_ns();
        for fresh in &mut self.cache.directory.fragments {
            fresh.saved = true;
        }
        for image in &mut self.images.all {
            // Its parent will do it.
            image.explored = true;
        }
        self.ended_already = false;
        self.log_of_child();
    }

    /// What a vfork child counted before its exec is its parent's to report.
    pub fn adopt_counts(&mut self, child: &Thread) {
        crate::tools::counters::retire(self, child);
    }

    /// App address and context of a fragment in a refused group, from the address
    /// at which it was entered. The links that lead there are taken back.
    ///
    /// # Panics
    /// If `addr` is not the entry of a unit's fragment.
    #[must_use]
    pub fn entry_of_refused(&self, addr: u64) -> (AppPc, Context) {
        let (image, unit) = self.unit_at(addr).expect("the caller found a unit");
        unit.unlink_refused();
        unit.entry_at(addr, self.images.get(image).base)
    }
}
