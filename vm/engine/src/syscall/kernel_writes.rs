//! Calls that write data to app memory which they cannot deliver again: a message, a child's status, what
//! held before a change. Most calls on guarded code pages fail with `EFAULT` and are repeated
//! ([`super::met_a_guard`]). These would lose data or stop short, so the guards on the memory that
//! they may write to are lifted before.

use alloc::vec::Vec;
use ppin_os::{c, peek};
use ppin_process::vm;
use ppin_translate::changes;

/// Start and length of a piece of memory.
type Piece = (u64, u64);

/// Most `struct iovec` that the kernel takes.
const MOST: u64 = c::UIO_MAXIOV as u64;
/// `sizeof(struct sockaddr_storage)`, of a `siginfo_t`, a `struct rusage`, a `struct io_event`, and of the
/// kernel's `struct sigaction`, `sigset_t`, `stack_t` and `struct rlimit64`.
const ADDRESS: u64 = 128;
const SIGINFO: u64 = 128;
const USAGE: u64 = 144;
const EVENT: u64 = 32;
const ACTION: u64 = 32;
const SET: u64 = 8;
const STACK: u64 = 24;
const LIMIT: u64 = 16;

/// Lifts the guards on memory that the call may write to.
pub(super) fn before(nr: u32, args: &[usize; 6]) {
    let pieces = pieces(nr, args);
    if pieces.is_empty() {
        return;
    }
    let Some((low, high)) = vm::lock().code().guards().span() else {
        return;
    };
    let guarded = |piece: &Piece| piece.0 < high && low < piece.0.saturating_add(piece.1);
    for (start, len) in pieces.into_iter().filter(guarded) {
        let end = start.saturating_add(len).min(high);
        changes::give_back(&mut vm::lock(), start.max(low), end);
    }
}

/// The memory that the call may write to.
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
        c::__NR_rt_sigaction => [(c, ACTION)].into(),
        c::__NR_rt_sigprocmask => [(c, SET)].into(),
        c::__NR_rt_sigtimedwait => [(b, SIGINFO)].into(),
        c::__NR_sigaltstack => [(b, STACK)].into(),
        c::__NR_prlimit64 => [(d, LIMIT)].into(),
        _ => Vec::new(),
    }
}

/// The memory named by `count` `struct iovec` at `at`.
fn vectors(at: u64, count: u64) -> Vec<Piece> {
    const SIZE: u64 = 16;
    let vector = |n| peek::read_value::<[u64; 2]>(at.wrapping_add(SIZE * n));
    let all = (0..count.min(MOST)).map_while(vector);
    all.map(|[start, len]| (start, len)).collect()
}

/// The memory named by the `struct msghdr` at `at`, and the structure itself.
fn message(at: u64) -> Vec<Piece> {
    const SIZE: u64 = 56;
    let Some([name, _, iov, count, control, len, _]) = peek::read_value::<[u64; 7]>(at) else {
        return Vec::new();
    };
    let mut all = vectors(iov, count);
    all.extend([(at, SIZE), (name, ADDRESS), (control, len)]);
    all
}

/// The memory named by `count` `struct mmsghdr` at `at`, and the structures themselves.
fn messages(at: u64, count: u64) -> Vec<Piece> {
    const SIZE: u64 = 64;
    let each = |n| message(at.wrapping_add(SIZE * n));
    let mut all: Vec<Piece> = (0..count.min(MOST)).flat_map(each).collect();
    all.push((at, count.min(MOST) * SIZE));
    all
}
