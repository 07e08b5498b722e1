//! `/proc/PID/map_files`: a folder with a link for each mapping of a file, named by its addresses.
//! Links of the runtime's mappings are hidden, both from reads of the folder and from lookups by
//! name.

use crate::proc_files::describes_us;
use alloc::vec::Vec;
use ppin_os::{Errno, c, descriptor, peek};
use ppin_process::gate::table;
use ppin_process::{ours, vm};

const NAME: &[u8] = b"map_files";
/// Longest path (`PATH_MAX`).
const LONGEST: usize = c::PATH_MAX as usize;

/// Whether a file opened by this path may be a `map_files` folder.
#[must_use]
pub fn may_be(path: &[u8]) -> bool {
    let name = last(path);
    name == NAME || name == b"."
}

fn last(path: &[u8]) -> &[u8] {
    let end = path
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(0, |at| at + 1);
    let path = &path[..end];
    let start = path
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    &path[start..]
}

/// The app has opened `fd`. If it is a `map_files` folder of this process, the VM handles reads of
/// folders and lookups from now on.
pub fn opened(fd: i32) {
    if is_own_map_files(fd) {
        table::watch_folders();
    }
}

/// Whether `fd` is the `map_files` of this process.
fn is_own_map_files(fd: i32) -> bool {
    let path = descriptor::path_of(fd);
    path.ends_with("/map_files") && describes_us(&path) && descriptor::is_of_proc(fd)
}

/// Reads the folder `fd` for the app: calls `read` until the buffer at `at` holds an entry that is
/// not hidden, and removes the hidden ones.
pub fn read(nr: u32, fd: i32, at: u64, mut read: impl FnMut() -> isize) -> isize {
    let ours = is_own_map_files(fd);
    loop {
        let len = read();
        if len <= 0 || !ours {
            return len;
        }
        let mut entries = alloc::vec![0; len as usize];
        if peek::read(at, &mut entries) != entries.len() {
            return len;
        }
        let shown = without_ours(&entries, nr == c::__NR_getdents64, is_hidden);
        if shown.len() == entries.len() {
            return len;
        }
        if !shown.is_empty() {
            let written = peek::write(at, &shown);
            return if written {
                shown.len() as isize
            } else {
                Errno::EFAULT.raw()
            };
        }
    }
}

/// The directory entries (getdents(2)) without the `hidden` ones.
fn without_ours(entries: &[u8], wide: bool, hidden: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    const LENGTH: usize = 16;
    let name_at = if wide { 19 } else { 18 };
    let mut shown = Vec::with_capacity(entries.len());
    let mut rest = entries;
    while let Some([low, high]) = rest.get(LENGTH..LENGTH + 2) {
        let len = usize::from(u16::from_le_bytes([*low, *high])).clamp(name_at, rest.len());
        let (entry, behind) = rest.split_at(len);
        let name = entry[name_at..].split(|byte| *byte == 0).next();
        if !name.is_some_and(&hidden) {
            shown.extend(entry);
        }
        rest = behind;
    }
    shown
}

/// Whether a link of that name stands for a mapping of the runtime.
fn is_hidden(name: &[u8]) -> bool {
    let hex = |text: &[u8]| u64::from_str_radix(core::str::from_utf8(text).ok()?, 16).ok();
    let mut parts = name.split(|byte| *byte == b'-').map(hex);
    let (Some(Some(start)), Some(Some(end)), None) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    ours::overlap(&vm::lock(), start, end)
}

/// Whether `path`, relative to the folder `dir`, is the link of a mapping of the runtime.
#[must_use]
pub fn names_ours(dir: i32, path: &[u8]) -> bool {
    let name = last(path);
    let before = &path[..path.len() - name.len()];
    is_hidden(name)
        && match before {
            b"" if dir == c::AT_FDCWD => cwd_is_map_files(),
            b"" => is_own_map_files(dir),
            _ => last(before) == NAME,
        }
}

fn cwd_is_map_files() -> bool {
    const HERE: &str = "/proc/self/cwd";
    let path = descriptor::link(HERE);
    path.ends_with("/map_files") && describes_us(&path)
}

/// The result of a lookup of a hidden link; `None` if the lookup names something else.
#[must_use]
pub fn refusal(nr: u32, args: &[usize; 6]) -> Option<isize> {
    let plain = [
        c::__NR_stat,
        c::__NR_lstat,
        c::__NR_access,
        c::__NR_readlink,
    ];
    let (dir, at) = if plain.contains(&nr) {
        (c::AT_FDCWD, args[0])
    } else {
        (args[0] as i32, args[1])
    };
    let mut path = peek::c_string(at as u64, LONGEST)?;
    path.pop();
    names_ours(dir, &path).then_some(Errno::ENOENT.raw())
}

#[cfg(test)]
mod tests {
    use super::{last, may_be, without_ours};
    use alloc::vec::Vec;

    fn entry(name: &str, wide: bool) -> Vec<u8> {
        let mut entry = alloc::vec![7; 16];
        let head = if wide { 19 } else { 18 };
        let len = (head + name.len() + 1).next_multiple_of(8);
        entry.extend((len as u16).to_le_bytes());
        entry.resize(head, 4);
        entry.extend(name.bytes());
        entry.resize(len, 0);
        entry
    }

    #[test]
    fn entries_of_ours_are_taken_out() {
        for wide in [false, true] {
            let all: Vec<u8> = [".", "1000-2000", "5000-6000"]
                .into_iter()
                .flat_map(|name| entry(name, wide))
                .collect();
            let shown = without_ours(&all, wide, |name| name == b"1000-2000");
            let expected = [entry(".", wide), entry("5000-6000", wide)].concat();
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn the_last_part_of_a_path_decides() {
        assert!(may_be(b"/proc/self/map_files"));
        assert!(may_be(b"map_files//"));
        assert!(!may_be(b"/proc/self/map_files/x"));
        assert_eq!(last(b"/"), b"");
        assert_eq!(last(b""), b"");
    }
}
