//! Answers of the kernel that cannot be the same in two processes.
//!
//! Results and buffers are handed over from the native process. With process ids it
//! is the other way round: the native process is told those that ours has, and when
//! it passes one to the kernel, that becomes its own again on the way.

use super::native::{Executed, Kind};
use super::pair::Pair;
use super::state::{State, reg};
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
const IDS: &[u64] = &[
    39,  // getpid
    56,  // clone
    57,  // fork
    58,  // vfork
    61,  // wait4
    110, // getppid
    111, // getpgrp
    121, // getpgid
    124, // getsid
    186, // gettid
    218, // set_tid_address
    247, // waitid
    435, // clone3
];

/// Calls that fill buffers: number, argument, length.
#[rustfmt::skip] // a table
const BUFFERS: &[(u64, usize, Len)] = &[
    (0, 1, Returned),      // read
    (4, 1, Bytes(144)),    // stat
    (5, 1, Bytes(144)),    // fstat
    (6, 1, Bytes(144)),    // lstat
    (17, 1, Returned),     // pread64
    (45, 1, Returned),     // recvfrom
    (61, 3, Bytes(144)),   // wait4: usage
    (89, 1, Returned),     // readlink
    (96, 0, Bytes(16)),    // gettimeofday
    (98, 1, Bytes(144)),   // getrusage
    (99, 0, Bytes(112)),   // sysinfo
    (100, 0, Bytes(32)),   // times
    (137, 1, Bytes(120)),  // statfs
    (138, 1, Bytes(120)),  // fstatfs
    (201, 0, Bytes(8)),    // time
    (217, 1, Returned),    // getdents64
    (228, 1, Bytes(16)),   // clock_gettime
    (262, 2, Bytes(144)),  // newfstatat
    (267, 2, Returned),    // readlinkat
    (309, 0, Bytes(4)),    // getcpu: processor
    (309, 1, Bytes(4)),    // getcpu: node
    (318, 0, Returned),    // getrandom
    (332, 4, Bytes(256)),  // statx
];

/// Hands over what the instruction `last` got from the kernel or from the processor;
/// whether registers of `ours` were changed, or its memory.
pub fn settle(
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
    if IDS.contains(&number) && theirs != result {
        pair.native.ids.add(theirs, result);
        native.gpr[reg::RAX] = result;
        pair.native.set_result(result).map_err(io::Error::other)?;
        changed = true;
    }
    for (_, arg, len) in BUFFERS.iter().filter(|row| row.0 == number) {
        let len = match len {
            Bytes(len) => *len,
            Returned => theirs as usize,
        };
        changed |= args[*arg] != 0 && hand_over(pair, args[*arg], len)?;
        if !IDS.contains(&number) && theirs != result {
            ours.gpr[reg::RAX] = theirs;
            changed = true;
        }
    }
    Ok(changed)
}

/// Both are at the first instruction of a handler. If the signal was sent by a
/// process, the sender's id is its own, and the trap number in the frame is that of
/// the stepping; the native process is given what ours has.
pub fn settle_frame(pair: &Pair, ours: &State) -> io::Result<()> {
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
