//! Process ids that the native process knows by those that ours has.

use nix::libc::{
    SYS_getpgid, SYS_getsid, SYS_kill, SYS_pidfd_open, SYS_prlimit64, SYS_rt_sigqueueinfo,
    SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_setpgid, SYS_tgkill, SYS_tkill, SYS_wait4,
    SYS_waitid, c_long,
};

/// Process ids: what the kernel calls a process, and what the native process knows
/// it by.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ids(Vec<(u64, u64)>);

impl Ids {
    /// From now on, the native process knows `real` as `known`.
    pub fn add(&mut self, real: u64, known: u64) {
        self.0.retain(|(_, before)| *before != known);
        self.0.push((real, known));
    }

    /// The kernel's name of a process, or of a group (negative).
    fn real(&self, known: u64) -> u64 {
        let id = i64::from(known as i32);
        let found = self
            .0
            .iter()
            .find(|(_, other)| *other != 0 && *other == id.unsigned_abs());
        match found {
            Some((real, _)) if id < 0 => (*real as i64).wrapping_neg() as u64,
            Some((real, _)) => *real,
            None => known,
        }
    }

    /// Arguments for the kernel.
    pub fn translate(&self, number: u64, args: &mut [u64; 6]) {
        for (_, arg) in ID_ARGS.iter().filter(|(call, _)| *call == number as c_long) {
            args[*arg] = self.real(args[*arg]);
        }
    }
}

/// Arguments that are process ids: number of the call, argument.
#[rustfmt::skip] // a table
const ID_ARGS: &[(c_long, usize)] = &[
    (SYS_wait4, 0),
    (SYS_kill, 0),
    (SYS_setpgid, 0), (SYS_setpgid, 1),
    (SYS_getpgid, 0),
    (SYS_getsid, 0),
    (SYS_rt_sigqueueinfo, 0),
    (SYS_tkill, 0),
    (SYS_sched_setaffinity, 0),
    (SYS_sched_getaffinity, 0),
    (SYS_tgkill, 0), (SYS_tgkill, 1),
    (SYS_waitid, 1),
    (SYS_prlimit64, 0),
    (SYS_pidfd_open, 0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use nix::libc::SYS_read;

    #[test]
    fn processes_and_groups_get_their_real_names_back() {
        let mut ids = Ids::default();
        ids.add(70, 50);
        let translated = |number, first| {
            let mut args = [first, 9, 0, 0, 0, 0];
            ids.translate(number, &mut args);
            args[0]
        };
        assert_eq!(translated(SYS_kill as u64, 50), 70);
        assert_eq!(
            translated(SYS_kill as u64, 50u64.wrapping_neg()),
            70u64.wrapping_neg()
        );
        assert_eq!(translated(SYS_kill as u64, 51), 51);
        assert_eq!(translated(SYS_read as u64, 50), 50);
        assert_eq!(translated(SYS_wait4 as u64, u64::MAX), u64::MAX);
    }
}
