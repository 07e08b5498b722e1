//! Answers of the kernel that cannot be the same in two processes.
//!
//! Results and buffers are handed over from the native process. With process ids it
//! is the other way round: the native process is told those that ours has, and when
//! it passes one to the kernel, that becomes its own again on the way.

use super::native::{Executed, Kind};
use super::pair::Pair;
use super::state::{State, reg};
use nix::libc::{
    self, SYS_clock_gettime, SYS_clone, SYS_clone3, SYS_fork, SYS_fstat, SYS_fstatfs, SYS_getcpu,
    SYS_getdents64, SYS_getpgid, SYS_getpgrp, SYS_getpid, SYS_getppid, SYS_getrandom,
    SYS_getrusage, SYS_getsid, SYS_gettid, SYS_gettimeofday, SYS_lstat, SYS_newfstatat,
    SYS_pread64, SYS_read, SYS_readlink, SYS_readlinkat, SYS_recvfrom, SYS_set_tid_address,
    SYS_stat, SYS_statfs, SYS_statx, SYS_sysinfo, SYS_time, SYS_times, SYS_vfork, SYS_wait4,
    SYS_waitid, c_long,
};
use std::io;
use std::os::unix::fs::FileExt;

/// Length of a buffer that a call fills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Len {
    Bytes(usize),
    /// As its result says.
    Result,
}
use Len::{Bytes, Result as Returned};

/// Calls whose results are process ids.
#[rustfmt::skip] // a table
const IDS: &[c_long] = &[
    SYS_getpid,
    SYS_clone,
    SYS_fork,
    SYS_vfork,
    SYS_wait4,
    SYS_getppid,
    SYS_getpgrp,
    SYS_getpgid,
    SYS_getsid,
    SYS_gettid,
    SYS_set_tid_address,
    SYS_waitid,
    SYS_clone3,
];

/// Calls that fill buffers: number, argument, length.
#[rustfmt::skip] // a table
const BUFFERS: &[(c_long, usize, Len)] = &[
    (SYS_read, 1, Returned),
    (SYS_stat, 1, Bytes(size_of::<libc::stat>())),
    (SYS_fstat, 1, Bytes(size_of::<libc::stat>())),
    (SYS_lstat, 1, Bytes(size_of::<libc::stat>())),
    (SYS_pread64, 1, Returned),
    (SYS_recvfrom, 1, Returned),
    (SYS_wait4, 3, Bytes(size_of::<libc::rusage>())), // usage
    (SYS_readlink, 1, Returned),
    (SYS_gettimeofday, 0, Bytes(size_of::<libc::timeval>())),
    (SYS_getrusage, 1, Bytes(size_of::<libc::rusage>())),
    (SYS_sysinfo, 0, Bytes(size_of::<libc::sysinfo>())),
    (SYS_times, 0, Bytes(size_of::<libc::tms>())),
    (SYS_statfs, 1, Bytes(size_of::<libc::statfs>())),
    (SYS_fstatfs, 1, Bytes(size_of::<libc::statfs>())),
    (SYS_time, 0, Bytes(size_of::<libc::time_t>())),
    (SYS_getdents64, 1, Returned),
    (SYS_clock_gettime, 1, Bytes(size_of::<libc::timespec>())),
    (SYS_newfstatat, 2, Bytes(size_of::<libc::stat>())),
    (SYS_readlinkat, 2, Returned),
    (SYS_getcpu, 0, Bytes(size_of::<libc::c_int>())), // processor
    (SYS_getcpu, 1, Bytes(size_of::<libc::c_int>())), // node
    (SYS_getrandom, 0, Returned),
    (SYS_statx, 4, Bytes(size_of::<libc::statx>())),
];

/// Hands over what the instruction `last` got from the kernel or from the processor;
/// whether registers of `ours` were changed, or its memory.
pub fn hand_over_answer(
    pair: &mut Pair,
    last: &Executed,
    native: &mut State,
    ours: &mut State,
) -> Result<bool, String> {
    match last.kind {
        Kind::Call(number, args) => {
            call(pair, number, &args, native, ours).map_err(|error| error.to_string())
        }
        Kind::Unpredictable => {
            let before = ours.gpr;
            if last.bytes.windows(2).any(|pair| pair == [0x0f, 0xc7]) {
                ours.gpr = native.gpr;
            }
            for n in [reg::RAX, reg::RBX, reg::RCX, reg::RDX] {
                ours.gpr[n] = native.gpr[n];
            }
            Ok(before != ours.gpr)
        }
        _ => Ok(false),
    }
}

fn call(
    pair: &mut Pair,
    number: u64,
    args: &[u64; 6],
    native: &mut State,
    ours: &mut State,
) -> io::Result<bool> {
    let (theirs, result) = (native.gpr[reg::RAX], ours.gpr[reg::RAX]);
    let worked = |result: u64| (result as i64) >= 0;
    if !worked(theirs) || !worked(result) {
        return Ok(false);
    }
    let mut changed = false;
    if IDS.contains(&(number as c_long)) && theirs != result {
        pair.native.ids.add(theirs, result);
        native.gpr[reg::RAX] = result;
        pair.native.set_result(result).map_err(io::Error::other)?;
        changed = true;
    }
    for (_, arg, len) in BUFFERS.iter().filter(|row| row.0 == number as c_long) {
        let len = match len {
            Bytes(len) => *len,
            Returned => theirs as usize,
        };
        changed |= args[*arg] != 0 && hand_over(pair, args[*arg], len)?;
        if !IDS.contains(&(number as c_long)) && theirs != result {
            ours.gpr[reg::RAX] = theirs;
            changed = true;
        }
    }
    Ok(changed)
}

/// Both are at the first instruction of a handler. If the signal was sent by a
/// process, the sender's id is its own, and the trap number in the frame is that of
/// the stepping; the native process is given what ours has.
pub fn hand_over_frame(pair: &Pair, ours: &State) -> io::Result<()> {
    const CODE: u64 = 8;
    const SENDER: u64 = 16;
    const ERROR_AND_TRAP: u64 = 0xc0;
    let (info, context) = (ours.gpr[reg::RSI], ours.gpr[reg::RDX]);
    let mut code = [0; 4];
    pair.native.mem.read_exact_at(&mut code, info + CODE)?;
    if i32::from_le_bytes(code) > 0 {
        return Ok(());
    }
    for (at, len) in [(info + SENDER, 4), (context + ERROR_AND_TRAP, 16)] {
        let mut bytes = vec![0; len];
        pair.ours.mem.read_exact_at(&mut bytes, at)?;
        pair.native.mem.write_all_at(&bytes, at)?;
    }
    Ok(())
}

/// Copies memory; whether it was different.
fn hand_over(pair: &Pair, at: u64, len: usize) -> io::Result<bool> {
    let (mut native, mut ours) = (vec![0; len], vec![0; len]);
    pair.native.mem.read_exact_at(&mut native, at)?;
    pair.ours.mem.read_exact_at(&mut ours, at)?;
    if native == ours {
        return Ok(false);
    }
    pair.ours.mem.write_all_at(&native, at)?;
    Ok(true)
}
