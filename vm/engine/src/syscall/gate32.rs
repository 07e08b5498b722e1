//! Makes those calls of the 32-bit table that the VM must follow: see [`super::old_calls`].

use super::outcome::Outcome;
use super::{exec, memory, process, sigcalls};
use alloc::vec::Vec;
use ppin_os::{Errno, c, peek};
use ppin_process::thread::Thread;

/// Makes the call; its result goes to rax.
pub(crate) fn make(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    match nr {
        c::__NR_exit
        | c::__NR_exit_group
        | c::__NR_fork
        | c::__NR_vfork
        | c::__NR_clone
        | c::__NR_clone3 => process::handle(thread, nr, args),
        c::__NR_rt_sigprocmask | c::__NR_rt_sigpending => sigcalls::handle(thread, nr, args),
        c::__NR_execve | c::__NR_execveat => execute(thread, nr, args),
        _ => memory::handle(thread, nr, args),
    }
}

/// Makes an exec, whose lists of 32-bit pointers are converted to 64-bit ones.
fn execute(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> Outcome {
    let first = 1 + usize::from(nr == c::__NR_execveat);
    let [Some(words), Some(environment)] = [first, first + 1].map(|n| list(args[n] as u64)) else {
        return Outcome::Done(Errno::EFAULT.raw());
    };
    let mut args = *args;
    for (n, list) in [(first, &words), (first + 1, &environment)] {
        args[n] = if list.is_empty() {
            0
        } else {
            list.as_ptr() as usize
        };
    }
    exec::handle(thread, nr, &args)
}

/// The pointers at `at` with the final zero; empty if `at` is 0. `None`: they cannot be read.
fn list(at: u64) -> Option<Vec<u64>> {
    const WORD: u64 = 4;
    let mut list = Vec::new();
    let mut at = at;
    while at != 0 {
        let pointer = peek::read_value::<u32>(at)?;
        list.push(u64::from(pointer));
        at = if pointer == 0 { 0 } else { at + WORD };
    }
    Some(list)
}
