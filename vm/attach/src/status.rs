//! What the kernel says of a process or thread in `/proc` (proc_pid_status(5), proc_pid_stat(5)).

use std::fs;
use std::path::PathBuf;

/// The lines of a status file.
#[derive(Clone, Debug)]
pub struct Status(String);

impl Status {
    /// That of process `pid`; of its thread `tid` if that is given.
    pub fn of(pid: i32, tid: Option<i32>) -> std::io::Result<Self> {
        let mut path = PathBuf::from(format!("/proc/{pid}"));
        if let Some(tid) = tid {
            path.push(format!("task/{tid}"));
        }
        fs::read_to_string(path.join("status")).map(Self)
    }

    /// The words of the line `name`; none if there is no such line.
    pub fn words(&self, name: &str) -> impl Iterator<Item = &str> {
        let mut lines = self.0.lines().filter_map(|line| line.split_once(':'));
        let line = lines.find(|(found, _)| *found == name);
        line.map_or("", |(_, rest)| rest).split_whitespace()
    }

    /// The first word of that line as a number in `radix`; 0 if there is none.
    pub fn number(&self, name: &str, radix: u32) -> u64 {
        let word = self.words(name).next();
        word.and_then(|word| u64::from_str_radix(word, radix).ok())
            .unwrap_or(0)
    }

    /// The state: `R`, `S`, `D`, `T`, `Z` and others.
    pub fn state(&self) -> &str {
        self.words("State").next().unwrap_or("?")
    }
}

/// The stack pointer with which the program of process `pid` began.
pub fn first_stack(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stack_in(&stat)
}

/// That in the contents of a `stat` file. (The program's name, in parentheses, may hold anything.)
fn stack_in(stat: &str) -> Option<u64> {
    /// `startstack`, counted from the state, which stands behind the name.
    const STACK: usize = 28 - 3;
    let (_, behind) = stat.rsplit_once(") ")?;
    let stack = behind.split(' ').nth(STACK)?.parse().ok();
    stack.filter(|stack| *stack != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_names() {
        let status =
            Status("Name:\ta b\nState:\tS (sleeping)\nSigBlk:\t00ff\nSeccomp:\t2\n".into());
        assert_eq!((status.state(), status.number("SigBlk", 16)), ("S", 0xff));
        assert_eq!(
            (status.number("Seccomp", 10), status.number("None", 10)),
            (2, 0)
        );
        assert_eq!(status.words("Name").collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn the_first_stack_stands_behind_any_name() {
        let fields: Vec<String> = (4..=52).map(|n| n.to_string()).collect();
        let stat = format!("7 (a) b) S {}", fields.join(" "));
        assert_eq!(stack_in(&stat), Some(28));
        assert_eq!(stack_in("7 (a) S 1"), None);
        let own = first_stack(std::process::id() as i32).expect("this process may see it");
        let here = std::ptr::from_ref(&own) as u64;
        assert!(own > 1 << 40 && own.abs_diff(here) < 1 << 45);
    }
}
