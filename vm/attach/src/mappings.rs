//! The kernel's lists of what processes have mapped, `/proc/PID/maps` (proc_pid_maps(5)).

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

impl Mapping {
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
}
