//! The state of the VM in one process, under one lock.
//!
//! The lock is not held across an access to app memory that may sleep, nor across a blocking call.
//! A thread may die while it waits for the lock, but not while it holds it: signals that arrive in
//! the VM wait.

mod locked;

use crate::buffers;
use crate::config::Config;
use crate::counters;
use crate::ended::Ended;
use crate::hints::Hints;
use crate::report::stats::Stats;
use crate::sequences::Sequences;
use crate::states::States;
use crate::thread::{Thread, Threads};
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
pub use locked::{Locked, lock, lock_for_crash_report, unlock_in_child, wake_all, word};
use ppin_abi::area::ENTRIES;
use ppin_api::Tool;
use ppin_codecache::CodeCache;
use ppin_codecache::unit::Library;
use ppin_os::{Errno, filter, heap, proc};

/// The state of the VM in one process. All access is under the VM lock.
pub struct Vm {
    /// The configuration that the launcher has passed.
    config: Config,
    /// The code cache, and the app images that its code was made from.
    code: CodeCache,
    /// The databases.
    library: Library,
    /// Live threads.
    threads: Threads,
    /// Counter values of threads that have ended, by displacement.
    ended: Ended,
    /// Copies of the tool's states.
    states: States,
    /// Restartable sequences.
    rseq: Sequences,
    /// What forked children had to ask for.
    hints: Hints,
    /// Statistics for `--stats`.
    stats: Stats,
    /// The error because of which lines of `--log` were lost.
    log_error: Option<Errno>,
    /// The tool.
    tool: &'static dyn Tool,
    /// The process has written its report, or must not write one.
    report_done: bool,
    /// The app filters system calls: the VM makes none that the app did not ask for.
    filtered: bool,
}

// SAFETY: the raw pointers are to thread mappings; all use is under the lock.
unsafe impl Send for Vm {}

static RUNTIME: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
static TOOLS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Sets up the VM; `runtime` is the range of the runtime's own code and data.
pub fn init(vm: Vm, runtime: (u64, u64)) {
    RUNTIME[0].store(runtime.0, Ordering::Relaxed);
    RUNTIME[1].store(runtime.1, Ordering::Relaxed);
    locked::put(vm);
}

/// Notes where the objects of the tools lie: their code is code of the runtime.
pub fn tools_lie_at(start: u64, end: u64) {
    TOOLS[0].store(start, Ordering::Relaxed);
    TOOLS[1].store(end, Ordering::Relaxed);
}

/// Start and end of the runtime's image.
#[must_use]
pub fn runtime() -> (u64, u64) {
    (
        RUNTIME[0].load(Ordering::Relaxed),
        RUNTIME[1].load(Ordering::Relaxed),
    )
}

/// Whether `pc` lies in `place`, and how far from its start.
fn within(place: &[AtomicU64; 2], pc: u64) -> Option<u64> {
    let [start, end] = place.each_ref().map(|at| at.load(Ordering::Relaxed));
    (start..end).contains(&pc).then(|| pc - start)
}

/// Whether `pc` lies in the runtime's image, or in a tool's.
#[must_use]
pub fn is_runtime(pc: u64) -> bool {
    within(&RUNTIME, pc).or(within(&TOOLS, pc)).is_some()
}

/// A pc for reports: relative to the runtime's image or the tools' if it lies there.
#[must_use]
pub fn describe(pc: u64) -> String {
    match (within(&RUNTIME, pc), within(&TOOLS, pc)) {
        (Some(offset), _) => alloc::format!("runtime+{offset:#x}"),
        (_, Some(offset)) => alloc::format!("tools+{offset:#x}"),
        _ => alloc::format!("{pc:#x}"),
    }
}

/// Whether `pid` is a thread or process that shares this memory.
pub fn shares_memory(pid: i32) -> bool {
    pid == proc::pid() || lock().threads.all().any(|thread| thread.tid == pid)
}

impl Vm {
    /// The VM at the start of a process.
    #[must_use]
    pub fn new(
        config: Config,
        tool: &'static dyn Tool,
        (code, library): (CodeCache, Library),
        threads: Threads,
        stats: Stats,
    ) -> Self {
        let mut code = code;
        for thread in threads.all() {
            // SAFETY: a new structure; see `remove_thread`.
            unsafe { code.begin_thread(&raw const thread.area) };
        }
        counters::provide(&mut code, tool, config.optimize);
        let states = States::default();
        Self {
            config,
            code,
            library,
            threads,
            ended: Ended::default(),
            states,
            rseq: Sequences::default(),
            hints: Hints::default(),
            stats,
            log_error: None,
            tool,
            report_done: false,
            filtered: false,
        }
    }

    /// Statistics.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Statistics, to add to them.
    pub fn stats_mut(&mut self) -> &mut Stats {
        &mut self.stats
    }

    /// Notes that lines of the log were lost because of `e`.
    pub(crate) fn lines_were_lost(&mut self, e: Errno) {
        self.log_error = Some(e);
    }

    /// The error because of which lines of the log were lost, once.
    pub(crate) fn take_lost_lines(&mut self) -> Option<Errno> {
        self.log_error.take()
    }

    /// Notes that the process reports now; `false` if it has done so.
    pub fn begin_report(&mut self) -> bool {
        !core::mem::replace(&mut self.report_done, true)
    }

    /// Whether the process writes its report, or has done so.
    #[must_use]
    pub fn is_reporting(&self) -> bool {
        self.report_done
    }

    /// The process goes on after its report, and will report again.
    pub fn report_again(&mut self) {
        self.report_done = false;
    }

    /// Whether the app filters system calls.
    #[must_use]
    pub fn is_filtered(&self) -> bool {
        self.filtered
    }

    /// The app is about to filter system calls. Nothing is saved any more.
    pub fn confine(&mut self) {
        self.library.close();
        self.filtered = true;
    }

    /// Takes [`Self::confine`] back; `before`: whether calls were filtered before it.
    pub fn restore_confinement(&mut self, before: bool) {
        self.filtered = before;
        if !before {
            self.library.reopen();
        }
    }

    /// The configuration that the launcher has passed.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The code cache, and the app images that its code was made from.
    #[must_use]
    pub fn code(&self) -> &CodeCache {
        &self.code
    }

    /// The code cache, to change it.
    pub fn code_mut(&mut self) -> &mut CodeCache {
        &mut self.code
    }

    /// The databases.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The databases, to use their folders.
    pub fn library_mut(&mut self) -> &mut Library {
        &mut self.library
    }

    /// The code cache, to restore and save its code, and the databases for it.
    pub fn code_and_library(&mut self) -> (&mut CodeCache, &mut Library) {
        (&mut self.code, &mut self.library)
    }

    /// Live threads.
    #[must_use]
    pub fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Makes a thread with the next number, for [`Vm::add_thread`].
    ///
    /// # Errors
    /// No memory.
    pub fn make_thread(&mut self, entries: [u64; ENTRIES]) -> ppin_os::Result<&'static mut Thread> {
        let index = self.threads.next_number();
        let cells = counters::reserve(self.tool, self.config.optimize);
        let buffers = buffers::count(self.tool);
        let renew = |thread: *mut Thread| {
            // SAFETY: the thread is gone, so nobody uses its memory.
            let renewed = unsafe { Thread::renew(thread, index, cells, buffers, entries) };
            renewed.ok().map(|()| thread)
        };
        let thread = match self.threads.take_resting().and_then(renew) {
            Some(thread) => thread,
            None => Thread::create(index, cells, buffers, entries)?,
        };
        // SAFETY: just made, and known to nobody else.
        Ok(unsafe { &mut *thread })
    }

    /// Adds a thread, which has the next number.
    pub fn add_thread(&mut self, thread: &mut Thread) {
        // SAFETY: the memory stays mapped while the code cache knows it. Its tables are new, or were
        // known all the time.
        unsafe { self.code.begin_thread(&raw const thread.area) };
        self.begin_states(thread);
        self.threads.add(thread);
    }

    /// Gives a new thread its copies of the tool's states. The first one gets them from the
    /// engine, the others when they are added.
    pub fn begin_states(&mut self, thread: &mut Thread) {
        self.states.begin(self.tool, thread);
    }

    /// Merges the states of a thread that ends.
    pub(crate) fn end_states(&mut self, thread: &Thread) {
        self.states.end(self.tool, thread);
    }

    /// A forked child has one thread, and has collected nothing.
    pub(crate) fn begin_states_anew(&mut self, thread: &mut Thread) {
        self.states.begin_anew(self.tool, thread);
    }

    /// Copies of the tool's states.
    #[must_use]
    pub(crate) fn states(&self) -> &States {
        &self.states
    }

    /// Removes a thread; whether its memory is kept for a later one, so that it must not be
    /// unmapped. Then the code cache goes on to keep its tables true.
    pub fn remove_thread(&mut self, thread: &mut Thread) -> bool {
        let rests = self.threads.rest(thread);
        if !rests {
            self.code.end_thread(&thread.area);
        } else if thread.epoch != self.code.epoch() {
            // (Since it entered the VM last, it may have called from code that was flushed.)
            self.code.forget_returns(&thread.area);
        }
        rests
    }

    /// Removes all threads but `thread`, the only one of a forked child.
    pub fn keep_only_thread(&mut self, thread: &mut Thread) {
        self.code.keep_only_thread(&thread.area);
        self.threads.only(thread);
    }

    /// Counters of threads that have ended.
    #[must_use]
    pub fn ended(&self) -> &Ended {
        &self.ended
    }

    /// Counters of threads that have ended, to change them.
    pub(crate) fn ended_mut(&mut self) -> &mut Ended {
        &mut self.ended
    }

    /// The code, and counters of threads that have ended, to add to them.
    pub(crate) fn code_and_ended(&mut self) -> (&CodeCache, &mut Ended) {
        (&self.code, &mut self.ended)
    }

    /// Restartable sequences.
    #[must_use]
    pub fn rseq(&self) -> &Sequences {
        &self.rseq
    }

    /// Restartable sequences, to learn and translate them.
    pub fn rseq_mut(&mut self) -> &mut Sequences {
        &mut self.rseq
    }

    /// What forked children had to ask for.
    #[must_use]
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// What forked children had to ask for, to take it.
    pub fn hints_mut(&mut self) -> &mut Hints {
        &mut self.hints
    }

    /// The tool. It lives as long as the VM, and is not written to after it was configured, so
    /// callers need not keep the lock.
    #[must_use]
    pub fn tool(&self) -> &'static dyn Tool {
        self.tool
    }

    /// Resets the statistics, the log and the like in a forked child.
    pub fn reset_after_fork(&mut self) {
        self.hints.in_child();
        self.stats = self.stats.of_child();
        self.code.forget_figures();
        self.config.started_ns = ppin_os::time::monotonic_ns();
        self.code.leave_to_parent();
        crate::cpuid::settle();
        self.report_done = false;
        self.log_of_child();
    }

    /// Recomputes the threads' common filters, after a thread came or went, or a filter was
    /// installed.
    pub fn update_filters(&self) {
        if filter::update(self.threads.all().map(|thread| &thread.area)) {
            // After this, a filter may forbid to wake them.
            wake_all();
        }
    }

    /// Rebuilds the VM after its lock's holder was killed, which may have left any of it half
    /// changed. (The holder was another process: [`ppin_os::lock`].) All fresh code is dropped, and
    /// not saved.
    fn rebuild(&mut self) {
        // A list that was being grown may still point at memory already freed.
        heap::abandon();
        self.log(format_args!(
            "the holder of the lock is gone: all fresh code goes"
        ));
        self.code.start_over();
        self.rseq.forget_copies();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use ppin_abi::boot::flag;

    #[test]
    fn a_process_reports_once_unless_it_goes_on() {
        let mut vm = testing::vm();
        assert!(vm.begin_report() && !vm.begin_report());
        vm.report_again();
        assert!(vm.begin_report());
    }

    #[test]
    fn nothing_is_saved_while_the_app_filters_calls() {
        let mut vm = testing::vm();
        assert!(vm.library().may_save() && !vm.is_filtered());
        vm.confine();
        assert!(!vm.library().may_save() && vm.is_filtered());
        vm.restore_confinement(true);
        assert!(
            !vm.library().may_save() && vm.is_filtered(),
            "an older filter"
        );
        vm.restore_confinement(false);
        assert!(vm.library().may_save() && !vm.is_filtered());
    }

    #[test]
    fn a_forked_child_has_done_nothing_yet() {
        let mut vm = testing::vm();
        vm.config.flags = flag::STATS;
        vm.begin_report();
        vm.code.count_flush();
        vm.stats.ran_natively("x".into());
        vm.reset_after_fork();
        let line = vm.stats.line(&vm.config, "p", &vm.code, [0; 3]);
        assert!(line.contains("\"flushes\":0") && line.contains("\"native_children\":[]"));
        assert!(vm.config.started_ns > 0 && vm.begin_report());
    }
}
