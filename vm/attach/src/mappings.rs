//! The kernel's lists of what processes have mapped, `/proc/PID/maps` (proc_pid_maps(5)).

use ppin_abi::leave::MARK;
use ppin_abi::room::RUNTIME;
use std::fmt::Display;
use std::ops::Range;
use std::{fs, io};

/// A line of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Its addresses.
    pub range: Range<u64>,
    /// Code in it may run.
    pub executable: bool,
    /// Where it begins in its file, in bytes.
    pub offset: u64,
    /// Number of its file; 0: it has none.
    pub inode: u64,
    /// Path of the file, or what the kernel calls it; may be empty.
    pub path: String,
}

/// What `process`, a process id or `self`, has mapped.
///
/// # Errors
/// The system's.
pub fn of(process: impl Display) -> io::Result<Vec<Mapping>> {
    let list = fs::read_to_string(format!("/proc/{process}/maps"))?;
    Ok(list.lines().filter_map(Mapping::parse).collect())
}

/// Why something of a process cannot be read, in words for people: what it hides, and what is not there.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is none".into(),
        io::ErrorKind::PermissionDenied => "it is another user's".into(),
        _ => error.to_string(),
    }
}

/// Whether a runtime lies among what a process has mapped, that of the executable with this number or of any, and the
/// process was not left since.
#[must_use]
pub fn run_under_ppin(all: &[Mapping], executable: Option<u64>) -> bool {
    let left = all.iter().any(|it| it.range.contains(&MARK));
    !left && all.iter().any(|it| it.is_runtime(executable))
}

impl Mapping {
    /// Whether it is code of a runtime. (Some file systems show mappings with another device than their files, so that
    /// is not asked.)
    fn is_runtime(&self, executable: Option<u64>) -> bool {
        let wanted = executable.unwrap_or(self.inode);
        let in_place = (RUNTIME..MARK).contains(&self.range.start);
        self.executable && self.inode != 0 && self.inode == wanted && in_place
    }

    fn parse(line: &str) -> Option<Self> {
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        // A path may have spaces in it; it stands behind some.
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let executable = words.next()?.contains('x');
        let offset = hex(words.next()?)?;
        Some(Self {
            range: hex(start)?..hex(end)?,
            executable,
            offset,
            inode: words.nth(1)?.parse().ok()?,
            path: words.next().unwrap_or_default().trim_start().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_the_spaces_in_its_path() {
        let line =
            "5500000e1000-5500002b0000 r-xp 000e1000 fe:00 1234                       /a  b c";
        let read = Mapping {
            range: 0x5500_000e_1000..0x5500_002b_0000,
            executable: true,
            offset: 0xe_1000,
            inode: 1234,
            path: "/a  b c".to_owned(),
        };
        assert_eq!(Mapping::parse(line), Some(read));
        let anonymous = Mapping::parse("7000-8000 rw-p 00000000 00:00 0 ").unwrap();
        assert!(!anonymous.executable && anonymous.path.is_empty());
        assert_eq!(Mapping::parse("7ffc-"), None);
    }

    #[test]
    fn this_process_has_its_own_code() {
        let here = this_process_has_its_own_code as *const () as u64;
        let all = of("self").unwrap();
        let mapping = all.iter().find(|it| it.range.contains(&here)).unwrap();
        assert!(mapping.executable && mapping.inode != 0);
        assert!(of(i32::MAX).is_err());
    }

    #[test]
    fn the_runtime_is_code_of_ours_in_its_place() {
        let at = |start: u64, executable, inode| Mapping {
            range: start..start + 0x1000,
            executable,
            offset: 0xe_1000,
            inode,
            path: String::new(),
        };
        let under = |all: &[Mapping]| [Some(7), None].map(|own| run_under_ppin(all, own));
        let ours = at(RUNTIME + 0x1000, true, 7);
        assert_eq!(under(std::slice::from_ref(&ours)), [true, true]);
        assert_eq!(under(&[at(RUNTIME + 0x1000, false, 7)]), [false, false]);
        assert_eq!(under(&[at(RUNTIME + 0x1000, true, 8)]), [false, true]);
        assert_eq!(under(&[at(RUNTIME + 0x1000, true, 0)]), [false, false]);
        assert_eq!(
            under(&[at(0x40_0000, true, 7)]),
            [false, false],
            "the launcher's own"
        );
        assert_eq!(
            under(&[ours, at(MARK, false, 0)]),
            [false, false],
            "it was left"
        );
    }
}
