//! The runtime is mapped and started in the stopped program, and takes its threads over.

use crate::remote::Remote;
use crate::stopped::{Held, Stopped};
use crate::task::Task as Traced;
use crate::{Failure, Request, Result, because, failure, status};
use nix::libc::{
    AT_FDCWD, MAP_ANONYMOUS, MAP_PRIVATE, O_CLOEXEC, O_RDONLY, PROT_EXEC, PROT_READ, PROT_WRITE,
    SYS_arch_prctl, SYS_close, SYS_mmap, SYS_munmap, SYS_openat, user_regs_struct as Regs,
};
use ppin_abi::attach::{GO, READY, Start, Task};
use ppin_abi::leave::MARK;
use ppin_inject::block::BootParams;
use ppin_inject::running::{Cargo, Room};
use std::fs;
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const PAGE: u64 = 4096;

/// arch_prctl(2): whether `cpuid` may be executed.
const ARCH_GET_CPUID: u64 = 0x1011;

/// Flags of the processor in the runtime: none but the one that is always set, and interrupts.
const FLAGS: u64 = 0x202;

/// Brings the runtime aboard. If that fails before the runtime starts, what was mapped goes again.
pub fn board(mut stopped: Stopped, request: &Request<'_>) -> Result<()> {
    let tasks = tasks(&stopped)?;
    let cargo = Cargo {
        boot: BootParams {
            tasks: &tasks,
            ..request.boot
        },
        runtime: request.runtime,
        plan: request.plan,
        ident: ident(request.carrier)?,
        stack: status::first_stack(request.pid).ok_or_else(hidden)?,
    };
    let mut remote = Remote::by(stopped.first())?;
    let load = load(&mut remote, &cargo, request)?;
    // From here on the program lives or dies with the runtime.
    let others = stopped.threads.split_off(1);
    stopped.threads.clear();
    let begun = begin(&mut remote, &load);
    let starts = begun.and_then(|()| starts(&mut remote, others.len()));
    let starts =
        starts.map_err(|Failure(why)| Failure(format!("it did not come under ppin: {why}")))?;
    for (held, start) in others.iter().zip(&starts.each) {
        send(held, start, starts.entry).map_err(because("a thread cannot go on"))?;
    }
    release(&mut remote, &load, starts.ready)
}

fn hidden() -> Failure {
    Failure("/proc does not show where its stack begins".into())
}

/// What the threads were doing, for the boot block.
fn tasks(stopped: &Stopped) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for held in &stopped.threads {
        let words = task(held)?.words();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    Ok(bytes)
}

fn task(held: &Held) -> Result<Task> {
    let vectors = held
        .task
        .vectors()
        .map_err(because("its vector registers cannot be read"))?;
    let (words, _) = vectors.xmm_space.as_chunks::<4>();
    let word = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let mut xmm = [[0; 2]; 16];
    for (to, [a, b, c, d]) in xmm.iter_mut().zip(words) {
        *to = [word(*a, *b), word(*c, *d)];
    }
    let r = &held.regs;
    Ok(Task {
        tid: held.task.0.as_raw() as u64,
        pc: r.rip,
        flags: r.eflags,
        gpr: [
            r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11,
            r.r12, r.r13, r.r14, r.r15,
        ],
        gs: [r.gs_base, r.gs],
        call: held.call,
        mask: held.mask,
        mxcsr: vectors.mxcsr.into(),
        xmm,
        rseq: held.sequences,
    })
}

/// Device, inode and change time (ns) of a file.
fn ident(path: &Path) -> Result<[u64; 3]> {
    let file =
        fs::metadata(path).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    let changed = file
        .ctime()
        .wrapping_mul(1_000_000_000)
        .wrapping_add(file.ctime_nsec());
    Ok([file.dev(), file.ino(), changed as u64])
}

/// What lies in the program now.
struct Load {
    /// The boot block: address, length of its mapping.
    block: (u64, u64),
    /// How the runtime is entered.
    entry: ppin_inject::running::Entry,
}

/// Maps boot block and runtime.
fn load(remote: &mut Remote, cargo: &Cargo<'_>, request: &Request<'_>) -> Result<Load> {
    if remote.call(SYS_arch_prctl, [ARCH_GET_CPUID, 0, 0, 0, 0, 0]) == Ok(0) {
        return failure("its cpuid faults (ARCH_SET_CPUID)");
    }
    let block = cargo.block();
    let room = cargo.room(&block);
    let name = request.carrier.as_os_str().as_bytes();
    // The path stands behind the block until the file is open.
    let len = (block.len() + name.len() + 1).next_multiple_of(PAGE as usize) as u64;
    let at = map(remote, len)?;
    let bytes = [&block[..], name, &[0]].concat();
    let loaded = match remote.task.write(at, &bytes) {
        true => map_runtime(remote, at + block.len() as u64, &room, request),
        false => failure("its memory cannot be written"),
    };
    match loaded {
        Ok((base, fd)) => Ok(Load {
            block: (at, len),
            entry: cargo.entry(base, &room, fd, (at, block.len() as u64)),
        }),
        Err(why) => {
            let _ = remote.call(SYS_munmap, [at, len, 0, 0, 0, 0]);
            Err(why)
        }
    }
}

fn map(remote: &mut Remote, len: u64) -> Result<u64> {
    let (access, kind) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    let mapped = remote.call(SYS_mmap, [0, len, access as u64, kind as u64, u64::MAX, 0]);
    mapped.map_err(|Failure(why)| Failure(format!("there is no memory for ppin: {why}")))
}

/// Maps the runtime from this executable, of which the path stands at `name` in the program: where, and its
/// descriptor there.
fn map_runtime(
    remote: &mut Remote,
    name: u64,
    room: &Room,
    request: &Request<'_>,
) -> Result<(u64, u64)> {
    let path = request.carrier.display();
    let flags = (O_RDONLY | O_CLOEXEC) as u64;
    let opened = remote.call(SYS_openat, [AT_FDCWD as u64, name, flags, 0, 0, 0]);
    let fd = opened.map_err(|Failure(why)| Failure(format!("it cannot open {path}: {why}")))?;
    let mapped = match is_carrier(request, fd) {
        true => {
            let (access, kind) = ((PROT_READ | PROT_EXEC) as u64, MAP_PRIVATE as u64);
            remote.call(
                SYS_mmap,
                [room.hint, room.len, access, kind, fd, room.offset],
            )
        }
        false => failure(format!("to it, {path} is another file")),
    };
    if mapped.is_err() {
        let _ = remote.call(SYS_close, [fd, 0, 0, 0, 0, 0]);
    }
    Ok((mapped?, fd))
}

/// Whether descriptor `fd` of the program is this executable.
fn is_carrier(request: &Request<'_>, fd: u64) -> bool {
    let theirs = ident(Path::new(&format!("/proc/{}/fd/{fd}", request.pid)));
    theirs.is_ok_and(|theirs| ident(request.carrier) == Ok(theirs))
}

/// Has the first thread enter the runtime.
fn begin(remote: &mut Remote, load: &Load) -> Result<()> {
    let entry = load.entry;
    let regs = Regs {
        rip: entry.rip,
        rax: entry.rax,
        rsi: entry.rsi,
        r8: entry.r8,
        r9: entry.r9,
        r12: entry.r12,
        r13: entry.r13,
        r14: entry.r14,
        eflags: FLAGS,
        orig_rax: u64::MAX,
        ..remote.registers()?
    };
    remote
        .task
        .set_registers(&regs)
        .map_err(because("its registers cannot be set"))
}

/// How the other threads begin.
struct Starts {
    entry: u64,
    each: Vec<Start>,
    /// The first thread's registers meanwhile.
    ready: Regs,
}

/// Lets the runtime run until it is ready for `count` other threads.
fn starts(remote: &mut Remote, count: usize) -> Result<Starts> {
    let ready = remote.run_to_trap(|regs| regs.rdi == READY)?;
    let each = (0..count as u64).map(|n| read_start(remote.task, ready.rsi, n));
    Ok(Starts {
        each: each.collect::<Result<_>>()?,
        entry: ready.rdx,
        ready,
    })
}

fn read_start(task: Traced, table: u64, n: u64) -> Result<Start> {
    let mut bytes = [0; size_of::<Start>()];
    if !task.read(table + n * bytes.len() as u64, &mut bytes) {
        return failure("its memory cannot be read");
    }
    let (words, _) = bytes.as_chunks::<8>();
    let [thread, stack] = [words[0], words[1]].map(u64::from_le_bytes);
    Ok(Start { thread, stack })
}

/// Has another thread begin under ppin.
fn send(held: &Held, start: &Start, entry: u64) -> nix::Result<()> {
    let regs = Regs {
        rip: entry,
        rdi: start.thread,
        // As behind a call.
        rsp: start.stack - 8,
        eflags: FLAGS,
        orig_rax: u64::MAX,
        ..held.regs
    };
    held.task.set_registers(&regs)?;
    held.task.detach()
}

/// Unmaps what is no longer needed, and tells the first thread to go on.
fn release(remote: &mut Remote, load: &Load, ready: Regs) -> Result<()> {
    let (at, len) = load.block;
    remote.call(SYS_munmap, [at, len, 0, 0, 0, 0])?;
    // Of an earlier attachment.
    remote.call(SYS_munmap, [MARK, PAGE, 0, 0, 0, 0])?;
    let regs = Regs {
        rax: GO,
        orig_rax: u64::MAX,
        ..ready
    };
    let gone = because("it cannot go on");
    remote.task.set_registers(&regs).map_err(&gone)?;
    remote.task.detach().map_err(&gone)
}
