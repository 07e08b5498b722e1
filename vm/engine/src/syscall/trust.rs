//! Calls that change the identity of a process, after which it must not use the database it has
//! opened.

use ppin_os::c;
use ppin_process::thread::Thread;
use ppin_process::vm;

/// The user id that means "do not change".
const KEEP: u32 = u32::MAX;

/// Makes the call. New fragments are saved before it, and none after it.
pub(super) fn change_identity(thread: &Thread, nr: u32, args: &[usize; 6]) -> isize {
    // (A vfork child runs in its parent's memory; the parent keeps its identity.)
    if !thread.borrowed_memory && !keeps_user(nr, args, user_ids()) {
        let mut vm = vm::lock();
        ppin_translate::save::at_end(&mut vm);
        vm.library_mut().close();
    }
    super::outcome::pass(nr, args)
}

/// Whether the call sets user ids to their current values, as posix_spawn(3) does for
/// `POSIX_SPAWN_RESETIDS`; `ids`: real, effective and saved.
fn keeps_user(nr: u32, args: &[usize; 6], ids: [u32; 3]) -> bool {
    let count = match nr {
        c::__NR_setuid => 1,
        c::__NR_setreuid => 2,
        c::__NR_setresuid => 3,
        _ => return false,
    };
    let [id, ..] = ids;
    let same = |arg: &usize| *arg as u32 == id || *arg as u32 == KEEP;
    ids == [id; 3] && args[..count].iter().all(same)
}

fn user_ids() -> [u32; 3] {
    let mut ids = [0u32; 3];
    let [real, effective, saved] = ids.each_mut().map(|id| &raw mut *id as usize);
    // SAFETY: the kernel writes three words of this array.
    let _ = unsafe { ppin_os::call(c::__NR_getresuid, [real, effective, saved, 0, 0, 0]) };
    ids
}

#[cfg(test)]
mod tests {
    use super::{c, keeps_user};

    const fn args(values: [u32; 3]) -> [usize; 6] {
        let [a, b, c] = values;
        [a as usize, b as usize, c as usize, 0, 0, 0]
    }

    #[test]
    fn ids_that_stay_keep_the_user() {
        let all = [7; 3];
        assert!(keeps_user(c::__NR_setuid, &args([7, 1, 1]), all));
        assert!(keeps_user(
            c::__NR_setresuid,
            &args([u32::MAX, 7, u32::MAX]),
            all
        ));
        assert!(keeps_user(c::__NR_setreuid, &args([7, 7, 1]), all));
    }

    #[test]
    fn others_do_not() {
        assert!(!keeps_user(c::__NR_setuid, &args([8, 7, 7]), [7; 3]));
        assert!(!keeps_user(c::__NR_setresuid, &args([7, 7, 8]), [7; 3]));
        assert!(!keeps_user(c::__NR_setuid, &args([7, 0, 0]), [7, 0, 7]));
        assert!(!keeps_user(c::__NR_chroot, &args([7, 7, 7]), [7; 3]));
    }
}
