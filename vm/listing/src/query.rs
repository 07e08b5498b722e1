//! The query for one mapping on a descriptor of `/proc/PID/maps` (`PROCMAP_QUERY`, ioctl(2)).
//!
//! The kernel answers. Which mapping it is asked for is decided by the list as the program sees it:
//! without the runtime's mappings, and with mappings whole that the VM's guards have split.

use crate::mappings::{Entry, parse};
use ppin_os::map_query::COVERING_OR_NEXT;
use ppin_os::{Errno, peek};

/// The first words of `struct procmap_query`: size, flags, address.
pub(crate) type Question = [u64; 3];
/// Offset of the answer in the structure.
const ANSWER: u64 = size_of::<Question>() as u64;

const WRITABLE: u64 = 2;
const FILE_BACKED: u64 = 0x20;
const KNOWN: u64 = 0x3f;

/// The query at `at`, if its size and flags are valid.
#[must_use]
pub(crate) fn question(at: u64) -> Option<Question> {
    let question: Question = peek::read_value(at)?;
    let [size, flags, _] = question;
    (size >= ANSWER && flags & !KNOWN == 0).then_some(question)
}

/// Finds the mapping asked for in `list`: its start, end and flags.
#[must_use]
pub(crate) fn find(list: &[u8], [_, flags, address]: Question) -> Option<[u64; 3]> {
    const ALL: u64 = 0xf;
    let entries = parse(list)?;
    let mut following = entries
        .iter()
        .filter(|it| it.end > address && !it.rest.ends_with(b"[vsyscall]"));
    let fits = |it: &&Entry| {
        let permitted = bits(it) & flags & ALL == flags & ALL;
        permitted && (flags & FILE_BACKED == 0 || it.is_of_a_file())
    };
    let found = if flags & COVERING_OR_NEXT != 0 {
        following.find(fits)
    } else {
        let first = following.next().filter(|it| it.start <= address);
        first.filter(fits)
    };
    found.map(|it| [it.start, it.end, bits(it)])
}

/// Permissions in the form of the answer's flags.
fn bits(entry: &Entry) -> u64 {
    let letters = entry.perms.into_iter().zip(*b"rwxs");
    letters.enumerate().fold(0, |bits, (n, (is, letter))| {
        bits | u64::from(is == letter) << n
    })
}

/// Asks the kernel with `ask` for the mapping at `found`, in the program's own structure at `at`,
/// and corrects the start, end and flags that it shows. Returns the result of the call.
pub(crate) fn answer(
    at: u64,
    question: Question,
    found: [u64; 3],
    ask: impl FnOnce() -> isize,
) -> isize {
    let [size, ..] = question;
    if !peek::write_value(at, &[size, 0, found[0]]) {
        return Errno::EFAULT.raw();
    }
    let result = ask();
    if !peek::write_value(at, &question) {
        return Errno::EFAULT.raw();
    }
    if result == 0 {
        // (A structure of an older version may end earlier.)
        for (n, (word, place)) in found.into_iter().zip([0u64, 8, 16]).enumerate() {
            let known = peek::read_value::<u64>(at + ANSWER + place);
            let differs = |it: u64| it != word && (n < 2 || (it ^ word) & WRITABLE != 0);
            if ANSWER + place + 8 <= size && known.is_some_and(differs) {
                let _ = peek::write_value(at + ANSWER + place, &word);
            }
        }
    }
    result
}

/// The result if the program has no such mapping. The kernel still checks the query, and its error
/// counts. What it has written about a mapping of the runtime is undone.
pub(crate) fn nothing(at: u64, [size, ..]: Question, ask: impl FnOnce() -> isize) -> isize {
    const LARGEST: u64 = 4096;
    let mut whole = alloc::vec![0; size.min(LARGEST) as usize];
    let complete = peek::read(at, &mut whole) == whole.len();
    match ask() {
        0 if complete && !peek::write(at, &whole) => Errno::EFAULT.raw(),
        0 => Errno::ENOENT.raw(),
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    const LIST: &[u8] = b"\
00400000-00401000 r-xp 00000000 fe:00 12     /bin/a
00402000-00403000 rw-p 00000000 00:00 0 
00403000-00404000 rwxs 00000000 00:01 7      /memfd:a (deleted)
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    #[test]
    fn questions_are_answered_as_the_kernel_does() {
        let ask = |flags, address| find(LIST, [104, flags, address]).map(|it| (it[0], it[2]));
        assert_eq!(ask(0, 0x40_0fff), Some((0x40_0000, 5)));
        assert_eq!(ask(0, 0x40_1000), None);
        assert_eq!(ask(0x10, 0x40_1000), Some((0x40_2000, 3)));
        assert_eq!(ask(2, 0x40_0000), None);
        assert_eq!(ask(0x12, 0x40_0000), Some((0x40_2000, 3)));
        assert_eq!(ask(0x30, 0x40_1000), Some((0x40_3000, 15)));
        assert_eq!(ask(0x18, 0), Some((0x40_3000, 15)));
        assert_eq!(ask(0x10, 0x40_4000), None);
    }
}
