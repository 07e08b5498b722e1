//! H: traces P over its exec, plants the bootstrap, and is gone.
//!
//! H runs on its own stack in P's memory with every signal blocked. It waits for
//! SIGCHLD, which tells of P's stops and by which P itself asks to be let go, and
//! otherwise only speaks through the word. A P that is stopped before its exec it lets
//! go (see [`guarded`]).
//!
//! # Safety
//!
//! All that H touches lies in the [`HelperSpace`], which P's side keeps alive until
//! the word is 0. P does not touch the seed between GO and 0.
#![allow(unsafe_code)]

use crate::cpu::Cpu;
use crate::guarded;
use crate::plant::{Refusal, Seed, plant};
use crate::ptrace::{Event, Tracee, event, poll};
use crate::space::HelperSpace;
use crate::sys::{self, Errno, Kernel, errno};
use crate::word;
use core::sync::atomic::{AtomicU32, Ordering};
use linux_raw_sys::general::{
    __NR_getppid, __NR_kill, __NR_prctl, __NR_rt_sigaction, __NR_rt_sigtimedwait, SIGCHLD, SIGKILL,
};
use linux_raw_sys::prctl::PR_SET_PDEATHSIG;

/// H's first function; `space` is the [`HelperSpace`] that P prepared.
///
/// # Safety
/// Runs in a child made by [`crate::sys::Kernel::spawn`] and nowhere else.
pub unsafe extern "C" fn run(space: *mut u8) -> ! {
    let space = space.cast::<HelperSpace>();
    // SAFETY: the space is alive as long as H is; the word is only used atomically.
    let word = unsafe { &*HelperSpace::word(space) };
    // SAFETY: written before the spawn, never after.
    let (process, task) = unsafe { ((*space).process, (*space).task) };
    die_with(process);
    hear_of_stops();
    word::wait_while(&mut Cpu, word, word::INIT);
    if let Err(error) = Tracee(task).seize() {
        // SAFETY: P reads this after it has seen us gone.
        unsafe { (*space).refusal = error.0 };
        sys::exit(0);
    }
    word::post(&mut Cpu, word, word::GO, word::SEIZED);
    // SAFETY: from GO on the seed is H's alone, and the reason is read when H is gone.
    let (seed, refusal) = unsafe { (&mut (*space).seed, &mut (*space).refusal) };
    let mut watch = Watch {
        word,
        seed,
        refusal,
    };
    watch.over(Tracee(task))
}

/// If P is killed while H waits for its word, only this signal ends H.
fn die_with(process: i32) {
    let args = [PR_SET_PDEATHSIG as usize, SIGKILL as usize, 0, 0, 0, 0];
    // SAFETY: concerns H alone.
    unsafe { Cpu.call(__NR_prctl, args) };
    // SAFETY: no arguments.
    let parent = unsafe { Cpu.call(__NR_getppid, [0; 6]) };
    if parent != process as isize {
        sys::exit(0);
    }
}

/// Default disposition for SIGCHLD, in H's own copy of the table: an app may have
/// asked for silence about stops, and H inherits that.
fn hear_of_stops() {
    let default = [0u64; 4];
    let args = [SIGCHLD as usize, default.as_ptr() as usize, 0, 8, 0, 0];
    // SAFETY: the kernel reads one `sigaction`.
    unsafe { Cpu.call(__NR_rt_sigaction, args) };
}

/// H at its work, from SEIZED on.
struct Watch<'space> {
    word: &'space AtomicU32,
    seed: &'space mut Seed,
    refusal: &'space mut i32,
}

impl Watch<'_> {
    fn over(&mut self, task: Tracee) -> ! {
        let mut asked = false;
        loop {
            match poll() {
                Ok(Some((tracee, status))) => self.react(tracee, event(status)),
                Ok(None) => {
                    if !asked && self.has_failed() {
                        asked = task.interrupt().is_ok();
                    }
                    await_child_signal();
                }
                Err(error) if error.0 == errno::ECHILD as i32 => sys::exit(0),
                Err(_) => {}
            }
        }
    }

    fn has_failed(&self) -> bool {
        self.word.load(Ordering::Acquire) == word::FAILED
    }

    /// Deals with one stop. A tracee that is killed meanwhile makes requests fail; the
    /// next wait tells.
    fn react(&mut self, tracee: Tracee, event: Event) {
        if self.has_failed() {
            return self.let_go(tracee, event);
        }
        let _ = match event {
            Event::Gone => sys::exit(0),
            Event::Exec => finish(tracee, self.seed),
            Event::Signal(signal) => tracee.resume(signal),
            Event::GroupStop => self.loosen(tracee),
            Event::Trap => tracee.resume(0),
        };
    }

    /// The exec failed: any stop will do to detach, and P goes on as it was.
    fn let_go(&mut self, tracee: Tracee, event: Event) {
        let signal = if let Event::Signal(signal) = event {
            signal
        } else {
            0
        };
        if event == Event::Gone || tracee.detach(signal).is_ok() {
            word::post(&mut Cpu, self.word, word::FAILED, word::DETACHED);
            sys::exit(0);
        }
    }

    /// P is stopped before its exec, and will ask for another H when it goes on.
    fn loosen(&mut self, tracee: Tracee) -> Result<(), Errno> {
        if let Some(regs) = guarded::not_executed(&tracee.registers()?) {
            tracee.set_registers(&regs)?;
        }
        *self.refusal = HelperSpace::LOOSE;
        word::post(&mut Cpu, self.word, word::SEIZED, word::LOOSE);
        tracee.detach(0)?;
        sys::exit(0)
    }
}

fn finish(tracee: Tracee, seed: &mut Seed) -> ! {
    match plant(tracee, seed) {
        Ok(()) if tracee.detach(0).is_ok() => sys::exit(0),
        Ok(()) => kill(tracee),
        Err(refusal) => {
            sys::complain(words(refusal));
            kill(tracee)
        }
    }
}

fn words(refusal: Refusal) -> &'static [u8] {
    match refusal {
        Refusal::NotSixtyFourBit => b"ppin: the program is 32-bit code: killed\n",
        Refusal::Registers => b"ppin: the program's registers cannot be read: killed\n",
        Refusal::Memory => {
            b"ppin: the program's memory cannot be read (execute-only file?): killed\n"
        }
        Refusal::Stack => b"ppin: the program's stack has no room for the boot block: killed\n",
    }
}

/// The program must not run natively in silence.
fn kill(tracee: Tracee) -> ! {
    // SAFETY: ends P, by decision.
    unsafe { Cpu.call(__NR_kill, [tracee.0 as usize, SIGKILL as usize, 0, 0, 0, 0]) };
    sys::exit(1)
}

/// Returns when SIGCHLD has come, or for no reason.
fn await_child_signal() {
    let set = 1u64 << (SIGCHLD - 1);
    let args = [(&raw const set) as usize, 0, 0, 8, 0, 0];
    // SAFETY: the kernel reads the set.
    unsafe { Cpu.call(__NR_rt_sigtimedwait, args) };
}
