//! The runtime's mappings, and what of them is in memory.
//!
//! The kernel is asked for each one ([`asked`]). It walks the tables of all pages of the program for `smaps`, which [`listed`]
//! goes by where it cannot be asked: a millisecond for 100 MB, and programs ask often how large they are.

use crate::mappings::{Entry, parse};
use alloc::vec::Vec;
use ppin_os::Result;
use ppin_os::map_query::MapQuery;
use ppin_os::maps::MapEntry;
use ppin_os::pagemap::{InMemory, Pagemap};
use ppin_process::ours::Range;

/// A mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Bytes.
    pub len: u64,
    /// As in the list: `rwxp`.
    pub perms: [u8; 4],
    /// It is shared memory, or a file in memory.
    pub is_shared_memory: bool,
    /// What of it is in memory.
    pub resident: InMemory,
}

impl Part {
    fn asked(entry: &MapEntry, resident: InMemory) -> Self {
        let letter = |is: bool, letter: u8| if is { letter } else { b'-' };
        Self {
            len: entry.end - entry.start,
            perms: [
                letter(entry.readable, b'r'),
                letter(entry.writable, b'w'),
                letter(entry.executable, b'x'),
                if entry.shared { b's' } else { b'p' },
            ],
            is_shared_memory: is_shared_memory(entry.path.as_bytes()),
            resident,
        }
    }

    fn listed(entry: &Entry) -> Self {
        let [resident, anonymous] = [&b"Rss:"[..], b"Anonymous:"].map(|it| entry.figure(it) << 10);
        Self {
            len: entry.end - entry.start,
            perms: entry.perms,
            is_shared_memory: is_shared_memory(entry.path()),
            resident: InMemory {
                anonymous,
                file: resident - anonymous,
            },
        }
    }
}

/// Whether this is the path of shared memory.
pub(crate) fn is_shared_memory(path: &[u8]) -> bool {
    [&b"/memfd:"[..], b"/dev/zero"]
        .iter()
        .any(|it| path.starts_with(it))
}

/// The mappings that begin in `hidden`, asked for one by one.
///
/// # Errors
/// The kernel's: it is older than 6.11, or a filter of the program's forbids to ask.
pub(crate) fn asked(hidden: &[Range]) -> Result<Vec<Part>> {
    let (mut list, pages) = (MapQuery::open()?, Pagemap::open()?);
    let mut hidden = hidden.to_vec();
    hidden.sort_unstable();
    let (mut parts, mut reached) = (Vec::new(), 0);
    for (start, end) in hidden {
        let first = start.max(reached);
        reached = first;
        while reached < end
            && let Some(entry) = list.first_from(reached)?
            && entry.start < end
        {
            if entry.start >= first {
                let resident = pages.in_memory(entry.start, entry.end)?;
                parts.push(Part::asked(&entry, resident));
            }
            reached = entry.end;
        }
    }
    Ok(parts)
}

/// The same, by the list of `smaps`.
#[must_use]
pub(crate) fn listed(smaps: &[u8], hidden: &[Range]) -> Vec<Part> {
    let entries = parse(smaps).unwrap_or_default();
    let ours = entries.iter().filter(|entry| entry.lies_in(hidden));
    ours.map(Part::listed).collect()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{asked, listed};
    use ppin_os::file::File;
    use ppin_os::{c, mem, peek, place};

    /// Three mappings, of which the middle one does not begin in what is hidden.
    #[test]
    fn the_kernel_says_the_same_either_way() {
        let len = 8 * mem::PAGE;
        let start = place::anywhere(3 * len, mem::RW).expect("there is memory");
        let (middle, last) = (start + len, start + 2 * len);
        // SAFETY: mapped just now.
        unsafe { mem::protect(middle, len, mem::R) }.expect("mapped");
        assert!(peek::write_value(start, &1u64) && peek::write_value(last, &1u64));
        let hidden = [(middle + mem::PAGE, last + len), (start, middle)];
        let smaps =
            File::open("/proc/self/smaps", c::O_RDONLY, 0).and_then(|it| it.read_all(64 << 20));
        let expected = listed(&smaps.expect("the list"), &hidden);
        assert!(expected.len() == 2 && expected[0].resident.anonymous >= mem::PAGE);
        match asked(&hidden) {
            Ok(parts) => assert_eq!(parts, expected),
            Err(_) => std::eprintln!("skipped: the kernel cannot be asked for one mapping"),
        }
    }
}
