//! Start-up: from the injector's jump to the app's first instruction.

use crate::life::{answers, attached};
use crate::syscall;
use alloc::vec::Vec;
use core::ops::Range;
use ppin_abi::addr::AppPc;
use ppin_abi::area::ENTRIES;
use ppin_abi::attach::{Task, tasks};
use ppin_abi::boot::{BootHeader, MAGIC, flag};
use ppin_abi::optimize::Optimize;
use ppin_api::{ThreadId, Tool};
use ppin_codecache::CodeCache;
use ppin_codecache::fresh::DEFAULT_LIMIT;
use ppin_codecache::unit::{Databases, Library};
use ppin_hosting::host;
use ppin_hosting::load::{self, Loaded};
use ppin_indirect::{IblTable, LANDINGS, Landings, TABLE};
use ppin_os::file::File;
use ppin_os::{budget, mem, place, proc, processor, report, segment, signals, time};
use ppin_persist::ToolIdentity;
use ppin_process::buffers;
use ppin_process::config::{self, Config};
use ppin_process::counters;
use ppin_process::gate::{self, Lookups};
use ppin_process::report::stats::Stats;
use ppin_process::signal::{Actions, HOLD_FAULTS_TOO, kernel_mask};
use ppin_process::thread::{Process, Thread, Threads, reg};
use ppin_process::vm::{self, Vm};

/// Runs the app from its first instruction, or from where its threads are if it runs already, under
/// the tools that the boot block names. `runtime` is the range of the runtime's image; `carrier` the
/// descriptor of the ppin executable, which holds bundled tools.
///
/// # Safety
/// Called once, in a process without the runtime, on a stack of the runtime's own; `carrier` is ours.
pub unsafe fn enter(boot: &BootHeader, runtime: Range<u64>, carrier: i32) -> ! {
    let carrier = File::from_fd(carrier);
    // Writes first: variables that are read before would be mapped twice, as zeros and then for
    // good.
    let [handler, restorer] = crate::signal::entry::addresses();
    ppin_process::signal::handled_at(handler, restorer);
    let persona = proc::persona();
    attached::note_implied(persona);
    let arrived = time::monotonic_ns();
    if boot.magic != MAGIC {
        report::give_up(format_args!("the boot block is of another version of ppin"));
    }
    // SAFETY: the block is this process's, and no app code has run.
    if let Err(e) = unsafe { ppin_inject::arrive::tidy_up(boot) } {
        report::give_up(format_args!(
            "cannot restore the program's first page (error {})",
            e.0
        ));
    }
    // Signals may be pending from before the exec, also with the numbers of faults.
    let mask = signals::set_mask(HOLD_FAULTS_TOO);
    if ppin_os::auxv::has_segment_bases(boot.entry_sp) {
        segment::use_segment_bases();
    }
    budget::learn();
    let mut config = Config::read(boot);
    config.optimize = possible(&mut config);
    ppin_process::report::stderr::remember();
    proc::remember_pid();
    let gate = ppin_process::gate::cross(ppin_process::gate::syscall::gate_done);
    place::seed(random(persona));
    ppin_os::filter::calls_come_from(gate);
    crate::check::sample::init(&config);
    syscall::init(&config);
    answers::inherit(&config, boot);
    let Loaded { tool, identities } = load::load(&config.tools, carrier);
    let tasks: Vec<Task> = tasks(config::bytes(boot, boot.tasks)).collect();
    let thread = first_thread(&config, tool);
    match tasks.first() {
        Some(task) => attached::resume(thread, task),
        None => begin(thread, boot, mask),
    }
    thread.begin_process(Process::new(Actions::DEFAULT));
    let code = empty_cache(&config);
    let library = library(&config, identities);
    let stats = Stats::begun(config.started_ns, arrived);
    let vm = Vm::new(config, tool, (code, library), Threads::new(thread), stats);
    vm::init(vm, (runtime.start, runtime.end));
    start(thread, boot, &tasks)
}

/// The mechanisms of the compiler that are wanted and possible.
fn possible(config: &mut Config) -> Optimize {
    let mut optimize = config.wanted;
    if !processor::logic_writes_af() {
        optimize = optimize.without(Optimize::FLAGS);
    }
    let wants = [
        (Optimize::UNTAKEN, flag::LOOPS_FAST),
        (Optimize::RETURNS, flag::SHIFTS),
    ];
    for (mechanism, wanted) in wants {
        if optimize.has(mechanism) && processor_has(&mut config.flags) & wanted == 0 {
            optimize = optimize.without(mechanism);
        }
    }
    if config.flags & flag::LOCKSTEP != 0 {
        // Each entry must begin a trace: instructions are counted from there.
        optimize = optimize.without(Optimize::RETURNS);
        // The tracer copies what a native process was answered.
        optimize = optimize.without(Optimize::CPUID);
    }
    optimize
}

/// What mechanisms want of the processor, as `flags`; what is found out goes there, for children. (In a
/// virtual machine `cpuid` takes microseconds.)
fn processor_has(flags: &mut u32) -> u32 {
    if *flags & flag::PROCESSOR == 0 {
        let [version, features, _] = ppin_process::cpuid::version();
        let found = [
            (processor::loops_fast(version), flag::LOOPS_FAST),
            (processor::likely_shifts(features), flag::SHIFTS),
        ];
        let found = found.into_iter().filter(|(is, _)| *is);
        *flags |= found.fold(flag::PROCESSOR, |all, (_, flag)| all | flag);
    }
    *flags
}

/// A random number for the place of private memory, but with `setarch -R`. The clock's low bits are random
/// enough.
fn random(persona: Option<u32>) -> u64 {
    const ADDR_NO_RANDOMIZE: u32 = 0x0004_0000;
    if persona.is_some_and(|bits| bits & ADDR_NO_RANDOMIZE != 0) {
        0
    } else {
        time::monotonic_ns().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    }
}

/// The routines that the gate calls, and those for indirect branches.
fn entries(config: &Config) -> [u64; ENTRIES] {
    let lookups = if ppin_process::sampling::is_on() {
        Lookups::Counted
    } else if config.flags & flag::LOCKSTEP != 0 {
        Lookups::All
    } else {
        Lookups::Plain
    };
    if lookups != Lookups::Plain {
        ppin_codecache::shut_landings();
    }
    let vm = crate::dispatch::vm_entry as *const () as usize as u64;
    let analysis = ppin_hosting::analysis::address();
    let bridge = ppin_hosting::bridge::address();
    gate::entries(vm, analysis, bridge, lookups)
}

fn first_thread(config: &Config, tool: &dyn Tool) -> &'static mut Thread {
    let counters = counters::reserve(tool, config.optimize);
    let thread = Thread::create(0, counters, buffers::count(tool), entries(config))
        .unwrap_or_else(|e| report::give_up(format_args!("no memory for the first thread ({e})")));
    // SAFETY: just made, and known to no other code.
    let thread = unsafe { &mut *thread };
    thread.epoch = 1;
    thread
}

/// Has the first thread begin the program, with the signal mask that exec has left.
fn begin(thread: &mut Thread, boot: &BootHeader, mask: u64) {
    thread.regs.gpr[reg::RSP] = boot.entry_sp;
    thread.regs.flags = 0x202;
    thread.resume_pc = boot.entry_pc;
    thread.signals.mask = mask;
    thread.signals.alt.untouched = true;
}

/// An empty code cache, of the size that the launcher and the memory limits allow.
fn empty_cache(config: &Config) -> CodeCache {
    let limit = match config.cache_limit_kib {
        0 => DEFAULT_LIMIT,
        kib => u64::from(kib) << 10,
    };
    let limit = limit.min(budget::code()).max(16 * mem::PAGE);
    let landings = Landings::new(
        &LANDINGS,
        gate::landings::landings_start as *const () as u64,
    );
    let mut code = CodeCache::new(limit, IblTable::new(&TABLE, landings));
    if !config.note.is_empty() {
        code.note(config.note.clone());
    }
    code
}

/// The databases that the launcher has named, and the data that decides which units can be used.
fn library(config: &Config, tools: Vec<ToolIdentity>) -> Library {
    Library::new(Databases {
        paths: core::iter::once(&config.db)
            .chain(&config.db_stack)
            .cloned()
            .collect(),
        reads: config.reads(),
        writes: config.writes(),
        flags: config.flags,
        engine: config.engine_id,
        tools,
        optimize: config.optimize,
    })
}

/// Takes over the process and enters the program; `tasks` are its threads if it runs already.
fn start(thread: &mut Thread, boot: &BootHeader, tasks: &[Task]) -> ! {
    thread.make_current();
    vm::lock().begin_log();
    ppin_process::app_code::add_all(&mut vm::lock(), boot.entry_sp, boot.program);
    if let Some(entry) = ppin_os::auxv::entry(boot.entry_sp) {
        vm::lock().code_mut().images_mut().set_program(AppPc(entry));
    }
    if budget::is_limited() {
        vm::lock().code_mut().prepare_for_want();
        crate::syscall::limits::inherit(&vm::lock());
    }
    let tool = vm::lock().tool();
    thread.area.calls.routines = ppin_hosting::routines::entries(tool)
        .unwrap_or_else(|e| report::give_up(format_args!("no memory for the tool's calls ({e})")));
    for (code, routine) in thread.area.calls.code.iter_mut().zip(tool.routines()) {
        *code = routine.plain().map_or(0, |plain| plain.address() as u64);
    }
    vm::lock().begin_states(thread);
    tool.start(&host::EngineHost);
    tool.thread_start(&host::EngineHost, ThreadId(0));
    match tasks.split_first() {
        Some((_, others)) => attached::take_over(thread, others),
        None => thread.process().actions = Actions::taken_over(boot.ignored),
    }
    signals::set_mask(kernel_mask(thread.signals.mask));
    // SAFETY: registers, pc and mask are set.
    unsafe { gate::enter_first() }
}
