//! Calls that need only a small rule each.

use super::outcome::pass;
use crate::syscall::confine;
use ppin_os::{Errno, c, mem, proc};
use ppin_process::thread::Thread;
use ppin_process::vm;

/// Handles the call.
pub(super) fn handle(thread: &mut Thread, nr: u32, args: &[usize; 6]) -> isize {
    match nr {
        c::__NR_rseq => ppin_translate::sequence::call(thread, args),
        c::__NR_seccomp => confine::handle(thread, nr, args),
        c::__NR_arch_prctl => arch_prctl(thread, args),
        c::__NR_prctl => prctl(thread, args),
        c::__NR_personality => personality(args),
        c::__NR_unshare | c::__NR_setns => {
            crate::life::cannot_follow::note_namespaces();
            pass(nr, args)
        }
        c::__NR_getrlimit | c::__NR_setrlimit | c::__NR_prlimit64 => {
            super::limits::handle(thread, nr, args)
        }
        c::__NR_mlockall | c::__NR_munlockall => super::locked::handle(thread, nr, args),
        c::__NR_userfaultfd => {
            let result = pass(nr, args);
            if result >= 0 {
                super::outcome::userfault_begins();
            }
            result
        }
        _ => super::trust::change_identity(thread, nr, args),
    }
}

/// Handles personality(2). Memory that it makes executable is registered when the program jumps
/// there. The runtime's mappings must not become executable.
fn personality(args: &[usize; 6]) -> isize {
    let asked = args[0] as u32;
    if asked != u32::MAX && asked & proc::READ_IMPLIES_EXEC != 0 {
        mem::reading_implies_executing();
    }
    pass(c::__NR_personality, args)
}

/// Handles arch_prctl(2). The CPU's gs is the runtime's; the app's is kept in the thread area.
fn arch_prctl(thread: &mut Thread, args: &[usize; 6]) -> isize {
    /// End of user space, as the kernel's do_arch_prctl_64 has it.
    const LIMIT: usize = (1 << 47) - 4096;
    match args[0] {
        c::ARCH_GET_GS => {
            if ppin_os::peek::write_value(args[1] as u64, &thread.area.app_gs_base) {
                0
            } else {
                Errno::EFAULT.raw()
            }
        }
        c::ARCH_SET_GS if args[1] >= LIMIT => Errno::EPERM.raw(),
        c::ARCH_SET_GS => {
            thread.area.app_gs_base = args[1] as u64;
            thread.gs_selector = 0;
            0
        }
        c::ARCH_SET_FS => {
            let result = pass(c::__NR_arch_prctl, args);
            ppin_translate::sequence::segment_moved(thread);
            result
        }
        c::ARCH_SET_CPUID => {
            // `cpuid` may fault from now on, or the app has wanted that.
            ppin_process::cpuid::close();
            pass(c::__NR_arch_prctl, args)
        }
        _ => pass(c::__NR_arch_prctl, args),
    }
}

fn prctl(thread: &mut Thread, args: &[usize; 6]) -> isize {
    if args[0] == c::PR_SET_MDWE as usize {
        // (From now on memory becomes executable only by a new mapping.)
        let mut vm = vm::lock();
        let (code, library) = vm.code_and_library();
        code.map_all(library);
        code.admit_all();
    }
    if args[0] == c::PR_SET_SYSCALL_USER_DISPATCH as usize {
        return super::user_dispatch::set(thread, args);
    }
    if args[0] == c::PR_SET_TSC as usize {
        ppin_os::time::allow_ticks(args[1] == c::PR_TSC_ENABLE as usize);
    }
    if args[0] == c::PR_SET_MM as usize {
        super::memory::break_moved();
    }
    if args[0] == c::PR_SET_SECCOMP as usize {
        return confine::handle(thread, c::__NR_prctl, args);
    }
    pass(c::__NR_prctl, args)
}
