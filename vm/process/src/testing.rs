//! What the tests of this crate share: a VM of the test's own, with one thread that does not run.

use crate::config::Config;
use crate::counters;
use crate::report::stats::Stats;
use crate::signal::Actions;
use crate::thread::{Process, Thread, Threads};
use crate::vm::Vm;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::AtomicU64;
use ppin_abi::boot::{CacheMode, RuntimeSpan};
use ppin_abi::optimize::Optimize;
use ppin_api::{About, Tool, Trace};
use ppin_codecache::CodeCache;
use ppin_codecache::unit::{Databases, Library};
use ppin_indirect::{IblTable, Landings};

/// A tool that inserts nothing, with two counters, and three of each image.
pub(crate) struct NoTool;

impl Tool for NoTool {
    fn about(&self) -> &'static About {
        &About {
            name: "none",
            summary: "inserts nothing",
            knobs: &[],
        }
    }

    fn global_counters(&self) -> u32 {
        2
    }

    fn image_counters(&self) -> u32 {
        3
    }

    fn instrument(&self, _: &Trace<'_>) {}
}

/// The configuration of a run without a database or outputs.
pub(crate) fn config() -> Config {
    Config {
        cache_mode: CacheMode::Off,
        flags: 0,
        cache_limit_kib: 0,
        check_every: 0,
        db_cap: 0,
        wanted: Optimize::ALL,
        optimize: Optimize::ALL,
        db: String::new(),
        db_stack: Vec::new(),
        note: String::new(),
        tools: Vec::new(),
        output: String::new(),
        stats: String::new(),
        log: String::new(),
        places: String::new(),
        ppin: String::new(),
        engine_id: [0; 32],
        runtime: RuntimeSpan::default(),
        ppin_ident: [0; 3],
        started_ns: 0,
    }
}

/// Thread number `index`, with a process of its own. (Its memory is never freed.)
pub(crate) fn thread(index: u32) -> &'static mut Thread {
    // (Tests run beside each other.)
    ppin_os::lock::begin_company();
    let thread = Thread::create(index, counters::reserve(&NoTool, Optimize::ALL), 2, [0; _])
        .expect("there is memory");
    // SAFETY: just made, and known to no other code.
    let thread = unsafe { &mut *thread };
    thread.tid = 1000 + index as i32;
    thread.begin_process(Process::new(Actions::DEFAULT));
    thread
}

/// A VM with this configuration and this thread.
pub(crate) fn vm_of(config: Config, thread: &mut Thread) -> Vm {
    let table = Box::leak(Box::new(AtomicU64::new(0)));
    let table = IblTable::new(table, Landings::new(&[], 0));
    let library = Library::new(Databases {
        paths: Vec::new(),
        reads: false,
        writes: true,
        flags: 0,
        engine: [0; 32],
        tools: Vec::new(),
        optimize: Optimize::ALL,
    });
    let code = CodeCache::new(1 << 20, table);
    let stats = Stats::begun(0, 0);
    Vm::new(
        config,
        &NoTool,
        (code, library),
        Threads::new(thread),
        stats,
    )
}

/// A VM with one thread.
pub(crate) fn vm() -> Vm {
    vm_of(config(), thread(0))
}
