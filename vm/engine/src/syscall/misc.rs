//! Calls with one small rule each.

use super::pass;
use crate::sys::c;
use crate::thread::Thread;
use crate::vm;

const ENOSYS: isize = -38;
const ARCH_SET_GS: usize = 0x1001;
const ARCH_GET_GS: usize = 0x1004;

/// Handles the call.
pub fn handle(_thread: &mut Thread, nr: u32, args: &[usize; 6]) -> isize {
    match nr {
        // glibc and others fall back to plain atomics (rseq(2), "Errors").
        c::__NR_rseq => ENOSYS,
        c::__NR_arch_prctl => arch_prctl(args),
        c::__NR_prctl => prctl(args),
        _ => give_up_trust(nr, args),
    }
}

/// gs is ours. Programs for x86-64 leave its base at 0.
fn arch_prctl(args: &[usize; 6]) -> isize {
    match args[0] {
        ARCH_GET_GS => {
            if crate::sys::peek::write_value(args[1] as u64, &0u64) { 0 } else { -14 }
        }
        ARCH_SET_GS if args[1] != 0 => {
            crate::report::give_up(format_args!("the program uses the gs segment, which ppin cannot share yet"))
        }
        ARCH_SET_GS => 0,
        _ => pass(c::__NR_arch_prctl, args),
    }
}

fn prctl(args: &[usize; 6]) -> isize {
    const PR_SET_SECCOMP: usize = 22;
    if args[0] == PR_SET_SECCOMP {
        return give_up_trust(c::__NR_prctl, args);
    }
    pass(c::__NR_prctl, args)
}

/// From here on the process is not what it was when it opened the database: nothing
/// more is saved. What it has learned so far is.
fn give_up_trust(nr: u32, args: &[usize; 6]) -> isize {
    {
        let mut vm = vm::lock();
        crate::spool::freeze_all(&mut vm, false);
        vm.no_save = true;
    }
    pass(nr, args)
}
