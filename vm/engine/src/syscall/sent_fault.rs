//! Signals with the numbers of faults that a thread sends to another one: see [`ppin_process::signal::sent`].

use super::outcome::{Outcome, pass};
use ppin_os::c;
use ppin_process::thread::Thread;
use ppin_process::vm;

/// Makes the call if it sends such a `signal` to another thread of the process.
pub(super) fn send(thread: &Thread, signal: u32, nr: u32, args: &[usize; 6]) -> Option<Outcome> {
    let tid = match nr {
        c::__NR_tkill => args[0],
        c::__NR_tgkill => args[1],
        _ => return None,
    } as i32;
    let vm = vm::lock();
    let mut others = vm.threads().all().filter(|it| it.tid != thread.tid);
    let receiver = others.find(|it| it.tid == tid && it.shares_process(thread))?;
    let result = receiver.signals.sent.send(signal, || pass(nr, args));
    Some(Outcome::Done(result))
}
