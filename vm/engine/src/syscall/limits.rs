//! Calls that set and read memory limits (`RLIMIT_AS`, `RLIMIT_DATA`). The app means its own
//! memory, but the kernel counts the runtime's with it. So the kernel is given a limit that is
//! wider by the size of the runtime's memory, and the app is told the limit that it has asked for.
//! A program that is executed gets the app's limits.

use super::outcome::pass;
use alloc::vec::Vec;
use ppin_os::limits::{HARD, Limit, SOFT, WIDENED, Widened};
use ppin_os::maps::{self, MapEntry};
use ppin_os::{Errno, budget, c, peek, proc};
use ppin_process::ours;
use ppin_process::thread::Thread;
use ppin_process::vm::{self, Vm};

/// `setrlimit`, `getrlimit` and `prlimit64`.
pub(crate) fn handle(thread: &Thread, nr: u32, args: &[usize; 6]) -> isize {
    let (resource, new, old) = match nr {
        c::__NR_getrlimit => (args[0], None, Some(1)),
        c::__NR_setrlimit => (args[0], Some(1), None),
        _ => (args[1], Some(2), Some(3)),
    };
    let own = nr != c::__NR_prlimit64 || [0, proc::pid()].contains(&(args[0] as i32));
    let memory = WIDENED.iter().find(|it| it.resource == resource as u32);
    let place = |at: Option<usize>| at.filter(|at| args[*at] != 0);
    match memory.filter(|_| own) {
        Some(limit) => call(limit, thread, nr, args, place(new), place(old)),
        None => pass(nr, args),
    }
}

/// Widens the limits that the app was started under, if that is allowed.
pub(crate) fn inherit(vm: &Vm) {
    for limit in &WIDENED {
        let asked = limit.current();
        if budget::allowed(limit.resource, asked) == u64::MAX {
            continue;
        }
        let ours = ours(limit, vm);
        let privileged = limit.and(asked, ours);
        let usual = limit.wider(asked, ours);
        if let Some(given) = [privileged, usual].into_iter().find(|it| limit.set(*it)) {
            limit.note(asked, given);
        }
    }
}

/// Makes the app's call, with structures of the VM in place of the app's in `args[new]` and
/// `args[old]`.
fn call(
    limit: &Widened,
    thread: &Thread,
    nr: u32,
    args: &[usize; 6],
    new: Option<usize>,
    old: Option<usize>,
) -> isize {
    let asked = new.map(|at| peek::read_value::<Limit>(args[at] as u64));
    if asked == Some(None) {
        return pass(nr, args);
    }
    let before = (
        limit.current(),
        Widened::get(&limit.given),
        Widened::get(&limit.asked),
    );
    let given = asked.flatten().map(|asked| given_for(limit, thread, asked));
    let (mut passed, mut was) = (*args, before.0);
    if let (Some(at), Some(given)) = (new, &given) {
        passed[at] = given.as_ptr() as usize;
    }
    if let Some(at) = old {
        passed[at] = was.as_mut_ptr() as usize;
    }
    let result = pass(nr, &passed);
    if result != 0 {
        return result;
    }
    if let (Some(asked), Some(given), false) = (asked.flatten(), given, thread.borrowed_memory) {
        limit.note(asked, given);
    }
    let shown = if was == before.1 { before.2 } else { was };
    match old {
        Some(at) if !peek::write_value(args[at] as u64, &shown) => Errno::EFAULT.raw(),
        _ => 0,
    }
}

/// The limit to give to the kernel. Before that, the VM reserves the memory that it needs, because
/// the app may use up the rest. (A vfork child only limits itself, and has no memory of the VM.)
fn given_for(limit: &Widened, thread: &Thread, asked: Limit) -> Limit {
    let none = budget::allowed(limit.resource, asked) == u64::MAX;
    if none || asked[SOFT] > asked[HARD] || thread.borrowed_memory {
        return asked;
    }
    let mut vm = vm::lock();
    budget::note_limit(limit.resource, asked);
    vm.code_mut().lower_limit(budget::code());
    vm.code_mut().prepare_for_want();
    limit.wider(asked, ours(limit, &vm))
}

/// How many of the bytes that this limit counts are the runtime's.
fn ours(limit: &Widened, vm: &Vm) -> u64 {
    let counts = |map: &&MapEntry| limit.resource == c::RLIMIT_AS || map.writable && !map.shared;
    let runtime: Vec<_> = ours::all(vm).collect();
    let is_ours = |map: &&MapEntry| {
        let at = map.start;
        runtime
            .iter()
            .any(|(start, end)| (*start..*end).contains(&at))
    };
    let all = maps::read().unwrap_or_default();
    let ours = all.iter().filter(is_ours).filter(counts);
    ours.map(|map| map.end - map.start).sum()
}
