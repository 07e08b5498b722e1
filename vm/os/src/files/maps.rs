//! The kernel's list of mappings, `/proc/self/maps` (proc_pid_maps(5)).

use crate::c;
use crate::errno::Result;
use crate::file::File;
use alloc::string::String;
use alloc::vec::Vec;

/// One mapping: a line of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapEntry {
    /// First address.
    pub start: u64,
    /// End: the address after the last byte.
    pub end: u64,
    /// Readable.
    pub readable: bool,
    /// Writable.
    pub writable: bool,
    /// Executable.
    pub executable: bool,
    /// `MAP_SHARED`.
    pub shared: bool,
    /// Offset in the file.
    pub offset: u64,
    /// Inode, 0 without a file.
    pub inode: u64,
    /// Path or pseudo-path, may be empty.
    pub path: String,
}

/// Whether `path`, as the list has it, stands for anonymous memory: it is empty, or a name that the
/// program has given the memory (prctl(2), `PR_SET_VMA_ANON_NAME`).
#[must_use]
pub fn is_anonymous(path: &str) -> bool {
    path.is_empty() || path.starts_with("[anon:")
}

/// All mappings of this process.
///
/// # Errors
/// `/proc` is missing.
pub fn read() -> Result<Vec<MapEntry>> {
    of("/proc/self/maps")
}

/// The mappings in the list at `path`, which may be the list of another process.
///
/// # Errors
/// The list cannot be read.
pub fn of(path: &str) -> Result<Vec<MapEntry>> {
    let text = File::open(path, c::O_RDONLY, 0)?.read_all(64 << 20)?;
    Ok(text.split(|b| *b == b'\n').filter_map(parse).collect())
}

fn hex(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(core::str::from_utf8(text).ok()?, 16).ok()
}

/// `start-end perms offset dev inode   path`
fn parse(line: &[u8]) -> Option<MapEntry> {
    let mut fields = line.splitn(6, |b| *b == b' ');
    let mut range = fields.next()?.split(|b| *b == b'-');
    let (start, end) = (hex(range.next()?)?, hex(range.next()?)?);
    let perms = fields.next()?;
    let offset = hex(fields.next()?)?;
    fields.next()?;
    let inode = core::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii();
    Some(MapEntry {
        start,
        end,
        readable: perms.first() == Some(&b'r'),
        writable: perms.get(1) == Some(&b'w'),
        executable: perms.get(2) == Some(&b'x'),
        shared: perms.get(3) == Some(&b's'),
        offset,
        inode,
        path: String::from_utf8_lossy(path).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_spaces_in_its_path() {
        let entry = parse(b"7f00-7f10 r-xp 00001000 fe:00 42      /tmp/a b.so").unwrap();
        assert_eq!(
            (entry.start, entry.end, entry.offset),
            (0x7f00, 0x7f10, 0x1000)
        );
        assert!(entry.executable && !entry.writable && !entry.shared);
        assert_eq!(entry.path, "/tmp/a b.so");
    }

    #[test]
    fn an_anonymous_line() {
        let entry = parse(b"00400000-00401000 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!((entry.inode, entry.path.as_str()), (0, ""));
    }
}
