//! Following an exec: which programs can be followed, and how.

use crate::life::{answers, cannot_follow};
use alloc::ffi::CString;
use alloc::vec::Vec;
use ppin_abi::elf;
use ppin_inject::block::BootParams;
use ppin_inject::{Carrier, Exec, Launch, Step, launch};
use ppin_os::{c, call, limits, report, signals};
use ppin_plugin::chosen;
use ppin_process::thread::Thread;
use ppin_process::vm;

/// Nested script interpreters that the kernel follows.
const SHEBANGS: u32 = 5;

/// How an exec is handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plan {
    /// The kernel will most likely refuse it (a search along PATH, a script without an interpreter
    /// line): the process is not expected to end.
    Refused,
    /// The program runs natively, for this reason.
    Native(&'static str),
    /// The program is followed: it runs under ppin, too. Device and inode number of its file.
    Follow([u64; 2]),
}

/// Plans the exec of `path` (zero-terminated).
#[must_use]
pub(crate) fn plan(at: Option<(i32, u32)>, path: &[u8]) -> Plan {
    let (mut dir, mut flags) = at.unwrap_or((c::AT_FDCWD, 0));
    if !executable(dir, flags, path) {
        return Plan::Refused;
    }
    let mut program: Vec<u8> = path.to_vec();
    for _ in 0..SHEBANGS {
        let Some(fd) = open(dir, flags, &program) else {
            return Plan::Native("it cannot be read");
        };
        let mut head = [0; 256];
        let Ok(len) = fd.read_at(&mut head, 0) else {
            return Plan::Refused;
        };
        let Some(next) = interpreter(&head[..len]) else {
            return binary(&head[..len], &fd.stat().unwrap_or_default(), &fd);
        };
        program = next;
        (dir, flags) = (c::AT_FDCWD, 0);
    }
    Plan::Refused
}

/// Whether the kernel would allow to execute the file.
fn executable(dir: i32, flags: u32, path: &[u8]) -> bool {
    let flags = flags & (c::AT_EMPTY_PATH | c::AT_SYMLINK_NOFOLLOW) | c::AT_EACCESS;
    let args = [
        dir as isize as usize,
        path.as_ptr() as usize,
        c::X_OK as usize,
        flags as usize,
        0,
        0,
    ];
    // SAFETY: a terminated path.
    unsafe { call(c::__NR_faccessat2, args) }.is_ok()
}

fn open(dir: i32, flags: u32, path: &[u8]) -> Option<ppin_os::file::File> {
    if path == b"\0" && flags & c::AT_EMPTY_PATH != 0 {
        return ppin_os::file::File::open(&alloc::format!("/proc/self/fd/{dir}"), c::O_RDONLY, 0)
            .ok();
    }
    ppin_os::file::File::open_at(dir, path, c::O_RDONLY | c::O_NONBLOCK).ok()
}

fn binary(head: &[u8], stat: &ppin_os::file::Stat, fd: &ppin_os::file::File) -> Plan {
    // A set-group-id bit without the group's execute bit means mandatory locking.
    const SETGID: u32 = c::S_ISGID | c::S_IXGRP;
    if !head.starts_with(elf::MAGIC) {
        return Plan::Refused;
    }
    let machine = elf::u16_at(head, 18).unwrap_or(0);
    if head.get(4) != Some(&elf::CLASS_64) || machine != elf::X86_64 {
        return Plan::Native("it is not a 64-bit x86 program");
    }
    let setuid = stat.mode & c::S_ISUID != 0 || stat.mode & SETGID == SETGID;
    if (setuid || fd.has_capabilities()) && gains(stat) {
        return Plan::Native("it would lose its privileges");
    }
    let follow = Plan::Follow([stat.dev, stat.ino]);
    cannot_follow::reason().map_or(follow, Plan::Native)
}

/// Whether the process would gain privileges by executing the file. Root gains none from its own
/// setuid programs, and with all its capabilities none from programs of other users.
fn gains(stat: &ppin_os::file::Stat) -> bool {
    // SAFETY: no arguments.
    let uid = unsafe { ppin_os::raw(c::__NR_geteuid, [0; 6]) };
    // SAFETY: the function passes valid arguments for the calls that it makes.
    let asks = |nr, args| unsafe { ppin_os::raw(nr, args) };
    uid != 0 || stat.uid != 0 && !ppin_inject::sys::may_become_anybody(asks)
}

/// The interpreter of a script, zero-terminated (execve(2), "Interpreter scripts").
fn interpreter(head: &[u8]) -> Option<Vec<u8>> {
    let line = head.strip_prefix(b"#!")?.split(|b| *b == b'\n').next()?;
    let mut words = line
        .split(|b| *b == b' ' || *b == b'\t')
        .filter(|w| !w.is_empty());
    let mut path = words.next()?.to_vec();
    path.push(0);
    Some(path)
}

/// Executes a program, the file `program`, under ppin. Returns the error for the app; `None`: the helper
/// process could not be made, and nothing has happened.
pub(crate) fn exec(thread: &mut Thread, exec: Exec, program: [u64; 2]) -> Option<isize> {
    let space = thread.helper_space().ok()?;
    let config = vm::lock().config().clone();
    let (tools, knobs) = chosen::written(&config.tools);
    let stack = config.db_stack.join(":");
    let carrier = CString::new(config.ppin.as_bytes()).ok()?;
    let answers = answers::bequeath();
    let launch_it = Launch {
        boot: BootParams {
            cache_mode: config.cache_mode,
            flags: config.flags,
            cache_limit_kib: config.cache_limit_kib,
            check_every: config.check_every,
            ignored: thread.process().actions.ignored_faults(),
            program,
            db_cap: config.db_cap,
            optimize: config.wanted,
            engine_id: config.engine_id,
            ptracer: 0,
            db: config.db.as_bytes(),
            tool: tools.as_bytes(),
            knobs: knobs.as_bytes(),
            output: config.output.as_bytes(),
            stats: config.stats.as_bytes(),
            ppin: config.ppin.as_bytes(),
            db_stack: stack.as_bytes(),
            note: config.note.as_bytes(),
            log: config.log.as_bytes(),
            answers: &answers,
            tasks: b"",
            places: b"",
        },
        carrier: Carrier::At(&carrier),
        runtime: config.runtime,
        ident: Some(config.ppin_ident),
        exec,
    };
    let ours = signals::set_mask(thread.signals.mask);
    ppin_process::pending::hand_over(thread);
    limits::narrow();
    // SAFETY: the helper's memory is this process's; the pointers and the mask are the app's own.
    let failure = unsafe { launch(space, &launch_it) };
    limits::widen_again(thread.borrowed_memory);
    signals::set_mask(ours);
    match failure.step {
        Step::Exec => Some(-(failure.errno.0 as isize)),
        Step::HelperDied => report::give_up(format_args!(
            "the helper that was to follow the execution of another program was killed"
        )),
        _ => None,
    }
}
