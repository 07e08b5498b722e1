//! The order of P's calls, recorded in place of a kernel.
#![allow(unsafe_code)]
#![allow(non_upper_case_globals)] // names of system calls in patterns

use crate::launch::{Carrier, Exec, Launch, Step, launch_with};
use crate::space::HelperSpace;
use crate::sys::{Args, Child, Errno, Kernel, check};
use crate::{block::BootParams, elf, guarded, word};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};
use linux_raw_sys::general::{
    __NR_fcntl, __NR_futex, __NR_kill, __NR_openat, __NR_prctl, __NR_pread64, __NR_rt_sigprocmask,
    __NR_setpgid, __NR_wait4, F_SETFD, FUTEX_WAIT, FUTEX_WAKE, SIGCHLD, SIGCONT,
};
use linux_raw_sys::prctl::{PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_PTRACER};
use ppin_abi::boot::RuntimeSpan;

const HELPER: usize = 4242;
const ENOENT: isize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Did {
    Spawn,
    Dumpable(usize),
    Ptracer(usize),
    Wake(u32),
    KeepOpen(usize),
    Mask(u64),
    Exec,
    SetApart,
    Nudge(u32),
    Reap,
}

/// A process without memory protection: H answers `seize` when it is asked.
struct Recorder {
    log: Vec<Did>,
    seize: u32,
    refusal: i32,
    dumpable: isize,
    stops: u32,
    space: *mut HelperSpace,
}

impl Recorder {
    fn new(seize: u32) -> Self {
        Self {
            log: Vec::new(),
            seize,
            refusal: 0,
            dumpable: 1,
            stops: 0,
            space: core::ptr::null_mut(),
        }
    }

    fn at(&self, did: Did) -> usize {
        let place = self.log.iter().position(|&seen| seen == did);
        place.unwrap_or_else(|| panic!("{did:?} is missing in {:?}", self.log))
    }

    fn prctl(&mut self, option: u32, value: usize) -> isize {
        match option {
            PR_GET_DUMPABLE => return self.dumpable,
            PR_SET_DUMPABLE => self.log.push(Did::Dumpable(value)),
            PR_SET_PTRACER => self.log.push(Did::Ptracer(value)),
            _ => panic!("prctl {option}"),
        }
        0
    }

    fn futex(&mut self, word: &AtomicU32, operation: u32) -> isize {
        let now = word.load(Ordering::Relaxed);
        match (operation, now) {
            (FUTEX_WAKE, _) => self.log.push(Did::Wake(now)),
            (FUTEX_WAIT, word::GO) => {
                // SAFETY: the launcher's own space, given to `spawn`.
                unsafe { (*self.space).refusal = self.refusal };
                word.store(self.seize, Ordering::Relaxed);
                // In the second attempt, H works.
                self.seize = word::SEIZED;
            }
            (FUTEX_WAIT, word::FAILED) => word.store(word::DETACHED, Ordering::Relaxed),
            _ => panic!("futex {operation} at {now}"),
        }
        0
    }
}

impl Kernel for Recorder {
    unsafe fn call(&mut self, number: u32, args: Args) -> isize {
        match number {
            __NR_openat => 3,
            __NR_fcntl if args[1] == F_SETFD as usize => {
                self.log.push(Did::KeepOpen(args[0]));
                0
            }
            __NR_fcntl => args[0] as isize + 50,
            __NR_pread64 => {
                let head = elf::sample();
                // SAFETY: the launcher's own buffer.
                unsafe { (args[1] as *mut u8).copy_from(head.as_ptr(), head.len()) };
                head.len() as isize
            }
            __NR_rt_sigprocmask => {
                // SAFETY: the launcher's own set.
                self.log
                    .push(Did::Mask(unsafe { *(args[1] as *const u64) }));
                0
            }
            __NR_prctl => self.prctl(args[0] as u32, args[1]),
            // SAFETY: the launcher's own word.
            __NR_futex => self.futex(unsafe { &*(args[0] as *const AtomicU32) }, args[1] as u32),
            __NR_setpgid => {
                assert_eq!(args[..2], [HELPER; 2]);
                self.log.push(Did::SetApart);
                0
            }
            __NR_kill => {
                assert_eq!(args[0], HELPER);
                self.log.push(Did::Nudge(args[1] as u32));
                0
            }
            __NR_wait4 => {
                assert_eq!(args[0], HELPER);
                self.log.push(Did::Reap);
                HELPER as isize
            }
            _ => 0,
        }
    }

    unsafe fn spawn(&mut self, child: &Child) -> isize {
        self.log.push(Did::Spawn);
        self.space = child.argument.cast();
        HELPER as isize
    }

    unsafe fn exec(&mut self, word: &AtomicU32, _number: u32, _args: &Args) -> isize {
        if self.stops > 0 {
            self.stops -= 1;
            word.store(word::LOOSE, Ordering::Relaxed);
            return guarded::NOT_EXECUTED;
        }
        self.log.push(Did::Exec);
        -ENOENT
    }
}

fn attempt(recorder: &mut Recorder, ptracer: u64) -> crate::Failure {
    let boot = BootParams {
        ptracer,
        ..BootParams::EMPTY
    };
    let none = core::ptr::null();
    let exec = Exec {
        at: None,
        path: none,
        argv: none.cast(),
        envp: none.cast(),
    };
    let runtime = RuntimeSpan {
        offset: 4096,
        len: 0,
    };
    let request = Launch {
        boot,
        carrier: Carrier::At(c""),
        runtime,
        ident: None,
        exec,
    };
    let mut space = Box::<MaybeUninit<HelperSpace>>::new(MaybeUninit::zeroed());
    // SAFETY: no helper is ever created; the recorder follows no pointer of `exec`.
    unsafe { launch_with(recorder, space.as_mut_ptr(), &request) }
}

#[test]
fn the_tracer_is_declared_before_the_helper_may_seize() {
    let mut recorder = Recorder::new(word::SEIZED);
    attempt(&mut recorder, 0);
    let declared = recorder.at(Did::Ptracer(HELPER));
    assert!(recorder.at(Did::Spawn) < declared);
    assert!(declared < recorder.at(Did::Wake(word::GO)));
    assert!(recorder.at(Did::Wake(word::GO)) < recorder.at(Did::Exec));
}

#[test]
fn a_failed_exec_gives_its_error_back_and_leaves_nothing() {
    let mut recorder = Recorder::new(word::SEIZED);
    let failure = attempt(&mut recorder, 77);
    assert_eq!(failure.step, Step::Exec);
    assert_eq!(failure.errno, check(-ENOENT).unwrap_err());
    let tail = [
        Did::Exec,
        Did::Mask(u64::MAX),
        Did::Wake(word::FAILED),
        Did::Nudge(SIGCHLD),
    ];
    let exec = recorder.at(Did::Exec);
    assert_eq!(recorder.log[exec..exec + 4], tail);
    let end = [Did::Reap, Did::Ptracer(77), Did::Mask(0)];
    assert!(recorder.log.ends_with(&end), "{:?}", recorder.log);
}

#[test]
fn the_exec_runs_with_the_callers_mask_and_the_descriptor() {
    let mut recorder = Recorder::new(word::SEIZED);
    attempt(&mut recorder, 0);
    let exec = recorder.at(Did::Exec);
    assert_eq!(recorder.log[exec - 1], Did::Mask(0));
    assert!(recorder.at(Did::KeepOpen(53)) < exec);
    assert_eq!(
        recorder.log[0],
        Did::Mask(u64::MAX),
        "blocked while H is made"
    );
}

#[test]
fn a_refused_seize_executes_nothing() {
    let mut recorder = Recorder::new(word::GONE);
    recorder.refusal = 1;
    let failure = attempt(&mut recorder, 0);
    assert_eq!((failure.step, failure.errno), (Step::Seize, Errno(1)));
    assert!(!recorder.log.contains(&Did::Exec));
    recorder.at(Did::Reap);
}

#[test]
fn a_dead_helper_executes_nothing() {
    let mut recorder = Recorder::new(word::GONE);
    assert_eq!(attempt(&mut recorder, 0).step, Step::HelperDied);
    assert!(!recorder.log.contains(&Did::Exec));
}

#[test]
fn a_process_that_is_not_dumpable_is_so_again_afterwards() {
    let mut recorder = Recorder::new(word::SEIZED);
    recorder.dumpable = 0;
    attempt(&mut recorder, 0);
    assert!(recorder.at(Did::Dumpable(1)) < recorder.at(Did::Wake(word::GO)));
    assert!(recorder.at(Did::Reap) < recorder.at(Did::Dumpable(0)));
}

#[test]
fn the_helper_is_set_apart_before_it_may_seize() {
    let mut recorder = Recorder::new(word::SEIZED);
    attempt(&mut recorder, 0);
    let apart = recorder.at(Did::SetApart);
    assert_eq!(recorder.log[apart + 1], Did::Nudge(SIGCONT));
    assert!(apart < recorder.at(Did::Wake(word::GO)));
}

#[test]
fn who_is_stopped_before_the_exec_begins_anew() {
    let mut recorder = Recorder::new(word::SEIZED);
    recorder.stops = 2;
    assert_eq!(attempt(&mut recorder, 0).step, Step::Exec);
    let count = |did| recorder.log.iter().filter(|&&seen| seen == did).count();
    assert_eq!((count(Did::Spawn), count(Did::Reap)), (3, 3));
    assert_eq!(count(Did::Exec), 1);
}

#[test]
fn who_is_stopped_while_it_waits_for_the_helper_begins_anew() {
    let mut recorder = Recorder::new(word::GONE);
    recorder.refusal = HelperSpace::LOOSE;
    assert_eq!(attempt(&mut recorder, 0).step, Step::Exec);
    let spawned = recorder.log.iter().filter(|&&did| did == Did::Spawn);
    assert_eq!(spawned.count(), 2);
}
