//! P's side: prepare, have H seize, execute.
//!
//! # Safety
//!
//! P passes the app's own pointers to `execve` untouched and gives H memory that
//! outlives it. Nothing here allocates or uses thread-local storage.
#![allow(unsafe_code)]

use crate::block::{self, BootParams};
use crate::cpu::Cpu;
use crate::elf::{self, Plan};
use crate::plant::Seed;
use crate::space::HelperSpace;
use crate::sys::{Child, Errno, Kernel, check, errno};
use crate::{fds, guarded, helper, word};
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use linux_raw_sys::general::{
    __NR_execve, __NR_execveat, __NR_fstat, __NR_getpid, __NR_gettid, __NR_kill, __NR_openat,
    __NR_prctl, __NR_pread64, __NR_rt_sigprocmask, __NR_setpgid, __NR_wait4, __WALL, AT_FDCWD,
    O_CLOEXEC, O_RDONLY, SIG_SETMASK, SIGCHLD, SIGCONT, stat,
};
use linux_raw_sys::prctl::{PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_PTRACER};
use ppin_abi::boot::RuntimeSpan;

/// The system call that the program asked for, with its own pointers.
#[derive(Clone, Copy, Debug)]
pub struct Exec {
    /// Directory descriptor and flags, for `execveat`.
    pub at: Option<(i32, u32)>,
    /// Path, zero-terminated.
    pub path: *const u8,
    /// Argument vector.
    pub argv: *const *const u8,
    /// Environment vector.
    pub envp: *const *const u8,
}

/// The file that holds the runtime.
#[derive(Clone, Copy, Debug)]
pub enum Carrier<'a> {
    /// Its path, zero-terminated.
    At(&'a CStr),
    /// A descriptor that is open for it, which the launch closes.
    Opened(i32),
}

/// A launch: what to carry and what to execute.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// For the boot block.
    pub boot: BootParams<'a>,
    /// The file that holds the runtime.
    pub carrier: Carrier<'a>,
    /// Where in it.
    pub runtime: RuntimeSpan,
    /// The carrier's `ppin_ident` when it was first opened; `None`: now is first.
    pub ident: Option<[u64; 3]>,
    /// What to execute.
    pub exec: Exec,
}

/// The step at which a launch failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Opening the carrier, or it holds no runtime any more.
    Carrier,
    /// Creating H.
    Helper,
    /// H's PTRACE_SEIZE.
    Seize,
    /// H was killed.
    HelperDied,
    /// The exec itself: the app's own error, P is as it was.
    Exec,
}

/// A launch that did not succeed; nothing of it remains in the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Where it ended.
    pub step: Step,
    /// The kernel's reason.
    pub errno: Errno,
}

impl Failure {
    fn at(step: Step) -> impl Fn(Errno) -> Self {
        move |errno| Self { step, errno }
    }
}

/// Executes the program with the runtime in it. Returns only if that failed.
///
/// # Safety
/// - `space` is valid for H until [`HelperSpace::finished`], and no other launch
///   uses it meanwhile;
/// - the pointers in `exec` are what the app would pass to the kernel;
/// - the calling thread has blocked what must not run in handlers meanwhile: its
///   mask is in force at the exec itself.
pub unsafe fn launch(space: *mut HelperSpace, launch: &Launch<'_>) -> Failure {
    // SAFETY: the caller's contract.
    unsafe { launch_with(&mut Cpu, space, launch) }
}

/// [`launch`] over any [`Kernel`].
///
/// # Safety
/// As for [`launch`].
pub unsafe fn launch_with<K: Kernel>(
    kernel: &mut K,
    space: *mut HelperSpace,
    launch: &Launch<'_>,
) -> Failure {
    let carrier = match Found::open(kernel, launch) {
        Ok(carrier) => carrier,
        Err(failure) => return failure,
    };
    let mut header = launch.boot.header(kernel);
    header.runtime = launch.runtime;
    header.ppin_ident = carrier.ident;
    let seed = Seed {
        header,
        texts: block::texts(&launch.boot),
        plan: carrier.plan,
        ppin_fd: carrier.fd,
    };
    // SAFETY: the caller's contract.
    let failure = unsafe { with_helper(kernel, space, launch, seed) };
    fds::close(kernel, carrier.fd);
    failure
}

/// The opened file that holds the runtime.
struct Found {
    fd: i32,
    plan: Plan,
    ident: [u64; 3],
}

impl Found {
    fn open<K: Kernel>(kernel: &mut K, launch: &Launch<'_>) -> Result<Self, Failure> {
        let failed = Failure::at(Step::Carrier);
        let low = match launch.carrier {
            Carrier::At(path) => open(kernel, path).map_err(&failed)?,
            Carrier::Opened(fd) => fd,
        };
        let fd = fds::raise(kernel, low);
        Self::read(kernel, fd, launch).map_err(|errno| {
            fds::close(kernel, fd);
            failed(errno)
        })
    }

    fn read<K: Kernel>(kernel: &mut K, fd: i32, launch: &Launch<'_>) -> Result<Self, Errno> {
        let ident = ident(kernel, fd)?;
        let mut head = [0u8; elf::HEAD];
        let offset = launch.runtime.offset as usize;
        let args = [
            fd as usize,
            head.as_mut_ptr() as usize,
            elf::HEAD,
            offset,
            0,
            0,
        ];
        // SAFETY: the kernel writes into `head`.
        let length = check(unsafe { kernel.call(__NR_pread64, args) })?;
        let same = launch.ident.is_none_or(|before| before == ident);
        match elf::plan(&head[..length]) {
            Some(plan) if same => Ok(Self { fd, plan, ident }),
            _ => Err(Errno(errno::ENOEXEC as i32)),
        }
    }
}

fn open<K: Kernel>(kernel: &mut K, path: &CStr) -> Result<i32, Errno> {
    let (path, flags) = (path.as_ptr() as usize, (O_RDONLY | O_CLOEXEC) as usize);
    // SAFETY: the path is a C string.
    let raw = unsafe { kernel.call(__NR_openat, [AT_FDCWD as usize, path, flags, 0, 0, 0]) };
    check(raw).map(|fd| fd as i32)
}

/// Device, inode and change time of an open file.
fn ident<K: Kernel>(kernel: &mut K, fd: i32) -> Result<[u64; 3], Errno> {
    let mut stat = MaybeUninit::<stat>::zeroed();
    let args = [fd as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the kernel writes one `stat`.
    check(unsafe { kernel.call(__NR_fstat, args) })?;
    // SAFETY: plain data, zeroed and then written by the kernel.
    let stat = unsafe { stat.assume_init() };
    let changed = stat
        .st_ctime
        .wrapping_mul(1_000_000_000)
        .wrapping_add(stat.st_ctime_nsec);
    Ok([stat.st_dev, stat.st_ino, changed])
}

/// # Safety
/// As for [`launch`].
unsafe fn with_helper<K: Kernel>(
    kernel: &mut K,
    space: *mut HelperSpace,
    launch: &Launch<'_>,
    seed: Seed,
) -> Failure {
    let mask = set_mask(kernel, u64::MAX);
    let failure = loop {
        // SAFETY: the caller's contract; of the H before there is nothing left.
        if let Some(failure) = unsafe { attempt(kernel, space, launch, seed, mask) } {
            break failure;
        }
    };
    set_mask(kernel, mask);
    failure
}

/// One H, one exec; `None`: H let go, since P was stopped before it could execute.
///
/// # Safety
/// As for [`launch`].
unsafe fn attempt<K: Kernel>(
    kernel: &mut K,
    space: *mut HelperSpace,
    launch: &Launch<'_>,
    seed: Seed,
    mask: u64,
) -> Option<Failure> {
    // SAFETY: the space is ours; H does not exist yet.
    let child = unsafe { prepare(kernel, space, seed) };
    // SAFETY: the stack lies in the space, which outlives H; `run` never returns.
    let helper = match check(unsafe { kernel.spawn(&child) }) {
        Ok(pid) => pid,
        Err(errno) => {
            // SAFETY: no H exists that could use the word.
            unsafe { (*space).word = AtomicU32::new(word::GONE) };
            return Some(Failure::at(Step::Helper)(errno));
        }
    };
    own_process_group(kernel, helper);
    // SAFETY: H waits for GO before it looks at the seed; the word is atomic.
    let word = unsafe {
        (*space).seed.header.helper_pid = helper as u32;
        &*HelperSpace::word(space)
    };
    let was_dumpable = allow_tracing(kernel, helper);
    word::post(kernel, word, word::INIT, word::GO);
    let failure = match word::wait_while(kernel, word, word::GO) {
        // SAFETY: the caller's contract.
        word::SEIZED => unsafe { execute(kernel, launch, &seed, word, helper, mask) },
        // SAFETY: H is gone, or on its way and has said what it had to say.
        _ => left(unsafe { (*space).refusal }),
    };
    reap(kernel, helper);
    forbid_tracing(kernel, was_dumpable, launch.boot.ptracer);
    failure
}

/// The failure that H reported before P's exec; `None`: P begins anew.
fn left(refusal: i32) -> Option<Failure> {
    match refusal {
        HelperSpace::LOOSE => None,
        0 => Some(Failure::at(Step::HelperDied)(Errno(errno::ESRCH as i32))),
        refused => Some(Failure::at(Step::Seize)(Errno(refused))),
    }
}

/// Gives H a process group of its own, since stops of P's group are not for H, and ends a stop
/// that has come before.
fn own_process_group<K: Kernel>(kernel: &mut K, helper: usize) {
    // SAFETY: both concern H, which is ours and not reaped yet.
    unsafe {
        kernel.call(__NR_setpgid, [helper, helper, 0, 0, 0, 0]);
        kernel.call(__NR_kill, [helper, SIGCONT as usize, 0, 0, 0, 0]);
    }
}

/// # Safety
/// `space` is ours alone.
unsafe fn prepare<K: Kernel>(kernel: &mut K, space: *mut HelperSpace, seed: Seed) -> Child {
    // SAFETY: no arguments.
    let (process, task) = unsafe {
        (
            kernel.call(__NR_getpid, [0; 6]) as i32,
            kernel.call(__NR_gettid, [0; 6]) as i32,
        )
    };
    // SAFETY: the caller's contract; the fields are plain data.
    unsafe {
        (&raw mut (*space).word).write(AtomicU32::new(word::INIT));
        (&raw mut (*space).process).write(process);
        (&raw mut (*space).task).write(task);
        (&raw mut (*space).refusal).write(0);
        (&raw mut (*space).seed).write(seed);
        Child {
            entry: helper::run,
            argument: space.cast(),
            stack_top: space.cast::<u8>().add(size_of::<HelperSpace>()),
            tid: HelperSpace::word(space),
        }
    }
}

/// # Safety
/// As for [`launch`]; H has seized this thread.
unsafe fn execute<K: Kernel>(
    kernel: &mut K,
    launch: &Launch<'_>,
    seed: &Seed,
    word: &AtomicU32,
    helper: usize,
    mask: u64,
) -> Option<Failure> {
    let failure = match fds::keep_over_exec(kernel, seed.ppin_fd) {
        Err(errno) => Failure::at(Step::Carrier)(errno),
        Ok(()) => {
            set_mask(kernel, mask);
            // SAFETY: the app's own arguments.
            let raw = unsafe { exec(kernel, &launch.exec, word) };
            set_mask(kernel, u64::MAX);
            if raw == guarded::NOT_EXECUTED {
                return None;
            }
            Failure::at(Step::Exec)(Errno(-raw as i32))
        }
    };
    word::post(kernel, word, word::SEIZED, word::FAILED);
    let args = [helper, SIGCHLD as usize, 0, 0, 0, 0];
    // SAFETY: wakes H, which is ours and not reaped yet.
    unsafe { kernel.call(__NR_kill, args) };
    word::wait_while(kernel, word, word::FAILED);
    Some(failure)
}

/// # Safety
/// The pointers are what the app would pass.
unsafe fn exec<K: Kernel>(kernel: &mut K, exec: &Exec, word: &AtomicU32) -> isize {
    let vectors = (exec.path as usize, exec.argv as usize, exec.envp as usize);
    let (path, argv, envp) = vectors;
    let (number, args) = match exec.at {
        None => (__NR_execve, [path, argv, envp, 0, 0, 0]),
        Some((dir, flags)) => {
            let flags = flags as usize;
            (__NR_execveat, [dir as usize, path, argv, envp, flags, 0])
        }
    };
    // SAFETY: the caller's contract.
    unsafe { kernel.exec(word, number, &args) }
}

/// Lets H trace this process: Yama (level 1) refuses a child that traces its
/// parent unless the parent says so *before*, and a process that is not dumpable
/// cannot be traced. Both end with the exec or with H; returns what to put back if
/// the exec fails.
fn allow_tracing<K: Kernel>(kernel: &mut K, helper: usize) -> bool {
    let was_dumpable = prctl(kernel, PR_GET_DUMPABLE, 0) != 0;
    if !was_dumpable {
        prctl(kernel, PR_SET_DUMPABLE, 1);
    }
    // Where there is no Yama this is EINVAL, and not needed.
    prctl(kernel, PR_SET_PTRACER, helper);
    was_dumpable
}

fn forbid_tracing<K: Kernel>(kernel: &mut K, was_dumpable: bool, ptracer: u64) {
    if !was_dumpable {
        prctl(kernel, PR_SET_DUMPABLE, 0);
    }
    if ptracer != 0 {
        prctl(kernel, PR_SET_PTRACER, ptracer as usize);
    }
}

fn prctl<K: Kernel>(kernel: &mut K, option: u32, value: usize) -> isize {
    // SAFETY: these options take numbers only.
    unsafe { kernel.call(__NR_prctl, [option as usize, value, 0, 0, 0, 0]) }
}

/// Sets the thread's signal mask; returns the former one.
fn set_mask<K: Kernel>(kernel: &mut K, mask: u64) -> u64 {
    let mut old = 0u64;
    let (new, old_at) = ((&raw const mask) as usize, (&raw mut old) as usize);
    // SAFETY: the kernel reads and writes one 8-byte set each.
    unsafe {
        kernel.call(
            __NR_rt_sigprocmask,
            [SIG_SETMASK as usize, new, old_at, 8, 0, 0],
        )
    };
    old
}

/// Takes H's exit status, so that no zombie stays.
fn reap<K: Kernel>(kernel: &mut K, helper: usize) {
    loop {
        // SAFETY: no status is asked for.
        let raw = unsafe { kernel.call(__NR_wait4, [helper, 0, __WALL as usize, 0, 0, 0]) };
        match check(raw) {
            Err(errno) if fds::interrupted(errno) => {}
            _ => return,
        }
    }
}
