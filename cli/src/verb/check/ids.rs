//! Process ids that the native process knows by those that ours has.

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
        for (_, arg) in ID_ARGS.iter().filter(|(call, _)| *call == number) {
            args[*arg] = self.real(args[*arg]);
        }
    }
}

/// Arguments that are process ids: number of the call, argument.
#[rustfmt::skip] // a table
const ID_ARGS: &[(u64, usize)] = &[
    (61, 0),             // wait4
    (62, 0),             // kill
    (109, 0), (109, 1),  // setpgid
    (121, 0),            // getpgid
    (124, 0),            // getsid
    (129, 0),            // rt_sigqueueinfo
    (200, 0),            // tkill
    (203, 0),            // sched_setaffinity
    (204, 0),            // sched_getaffinity
    (234, 0), (234, 1),  // tgkill
    (247, 1),            // waitid
    (302, 0),            // prlimit64
    (434, 0),            // pidfd_open
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_groups_get_their_real_names_back() {
        let mut ids = Ids::default();
        ids.add(70, 50);
        let translated = |number, first| {
            let mut args = [first, 9, 0, 0, 0, 0];
            ids.translate(number, &mut args);
            args[0]
        };
        assert_eq!(translated(62, 50), 70);
        assert_eq!(translated(62, 50u64.wrapping_neg()), 70u64.wrapping_neg());
        assert_eq!(translated(62, 51), 51);
        assert_eq!(translated(0, 50), 50);
        assert_eq!(translated(61, u64::MAX), u64::MAX);
    }
}
