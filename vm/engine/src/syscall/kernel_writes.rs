//! Calls by which the kernel fills memory of the app's with what it then has no more: a
//! message, a child's status. Most calls that meet code that we guard fail with `EFAULT` and
//! are made again ([`super::after_efault`]); these would lose something or stop short, so
//! what they may fill is given back before.

use alloc::vec::Vec;
use ppin_os::{c, peek};
use ppin_process::vm;
use ppin_translate::changes;

/// Start and length.
type Piece = (u64, u64);

/// `UIO_MAXIOV`.
const MOST: u64 = 1024;
/// `sizeof(struct sockaddr_storage)`, of a `siginfo_t`, a `struct rusage` and a `struct
/// io_event`.
const ADDRESS: u64 = 128;
const SIGINFO: u64 = 128;
const USAGE: u64 = 144;
const EVENT: u64 = 32;

/// Before the call is made.
pub(super) fn before(nr: u32, args: &[usize; 6]) {
    let Some((low, high)) = vm::lock().code.guards.span() else {
        return;
    };
    let guarded = |piece: &Piece| piece.0 < high && low < piece.0.saturating_add(piece.1);
    let pieces: Vec<Piece> = pieces(nr, args).into_iter().filter(guarded).collect();
    for (start, len) in pieces {
        let end = start.saturating_add(len).min(high);
        changes::give_back(&mut vm::lock(), start.max(low), end);
    }
}

/// What it may fill.
fn pieces(nr: u32, args: &[usize; 6]) -> Vec<Piece> {
    let [a, b, c, d, e, f] = args.map(|it| it as u64);
    match nr {
        c::__NR_read | c::__NR_pread64 => [(b, c)].into(),
        c::__NR_readv
        | c::__NR_preadv
        | c::__NR_preadv2
        | c::__NR_process_vm_readv
        | c::__NR_vmsplice => vectors(b, c),
        c::__NR_recvfrom => [(b, c), (e, ADDRESS), (f, 4)].into(),
        c::__NR_recvmsg => message(b),
        c::__NR_recvmmsg => messages(b, c),
        c::__NR_accept | c::__NR_accept4 => [(b, ADDRESS), (c, 4)].into(),
        c::__NR_wait4 => [(b, 4), (d, USAGE)].into(),
        c::__NR_waitid => [(c, SIGINFO), (e, USAGE)].into(),
        c::__NR_msgrcv => [(b, c.saturating_add(8))].into(),
        c::__NR_mq_timedreceive => [(b, c), (d, 4)].into(),
        c::__NR_io_getevents => [(d, c.saturating_mul(EVENT))].into(),
        c::__NR_getrandom => [(a, b)].into(),
        _ => Vec::new(),
    }
}

/// Those of `count` `struct iovec` at `at`.
fn vectors(at: u64, count: u64) -> Vec<Piece> {
    const SIZE: u64 = 16;
    let vector = |n| peek::read_value::<[u64; 2]>(at.wrapping_add(SIZE * n));
    let all = (0..count.min(MOST)).map_while(vector);
    all.map(|[start, len]| (start, len)).collect()
}

/// Those of a `struct msghdr`, and itself.
fn message(at: u64) -> Vec<Piece> {
    const SIZE: u64 = 56;
    let Some([name, _, iov, count, control, len, _]) = peek::read_value::<[u64; 7]>(at) else {
        return Vec::new();
    };
    let mut all = vectors(iov, count);
    all.extend([(at, SIZE), (name, ADDRESS), (control, len)]);
    all
}

/// Those of `count` `struct mmsghdr` at `at`.
fn messages(at: u64, count: u64) -> Vec<Piece> {
    const SIZE: u64 = 64;
    let each = |n| message(at.wrapping_add(SIZE * n));
    let mut all: Vec<Piece> = (0..count.min(MOST)).flat_map(each).collect();
    all.push((at, count.min(MOST) * SIZE));
    all
}
