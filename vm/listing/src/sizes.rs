//! Sizes of the runtime's part of the process, in the terms of `/proc/PID/status` and `statm`
//! (proc_pid_status(5)).

use crate::mappings::{Entry, parse};
use ppin_os::mem::PAGE;
use ppin_process::ours::Range;

/// Sizes in kB, each a part of the kernel's figure for the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// All mappings (`VmSize`).
    pub total: i64,
    /// Private and writable (`VmData`).
    pub data: i64,
    /// Executable and not writable (`VmLib`).
    pub code: i64,
    /// Resident, without a file.
    pub anonymous: i64,
    /// Resident, of files.
    pub file: i64,
    /// Resident, shared memory.
    pub shared: i64,
}

impl Sizes {
    /// All resident memory (`VmRSS`).
    #[must_use]
    pub(crate) fn resident(&self) -> i64 {
        self.anonymous + self.file + self.shared
    }

    fn with(mut self, entry: &Entry) -> Self {
        let kb = ((entry.end - entry.start) >> 10) as i64;
        let resident = entry.figure(b"Rss:") as i64;
        let anonymous = entry.figure(b"Anonymous:") as i64;
        self.total += kb;
        match entry.perms {
            [_, b'w', _, b'p'] => self.data += kb,
            [_, b'-', b'x', _] => self.code += kb,
            _ => {}
        }
        self.anonymous += anonymous;
        if is_shared_memory(entry.rest) {
            self.shared += resident - anonymous;
        } else {
            self.file += resident - anonymous;
        }
        self
    }
}

/// Whether `rest` (device, inode and path of an entry) is that of shared memory.
pub(super) fn is_shared_memory(rest: &[u8]) -> bool {
    let path = rest.iter().position(|byte| *byte == b'/');
    path.is_some_and(|at| {
        [&b"/memfd:"[..], b"/dev/zero"]
            .iter()
            .any(|it| rest[at..].starts_with(it))
    })
}

/// The sizes of mappings in `hidden`, by the list of `smaps`. The kernel counts the `guarded` pages
/// as code, although the program has made them writable.
#[must_use]
pub(crate) fn of(smaps: &[u8], hidden: &[Range], guarded: usize) -> Sizes {
    let entries = parse(smaps).unwrap_or_default();
    let ours = entries.iter().filter(|entry| entry.lies_in(hidden));
    let mut sizes = ours.fold(Sizes::default(), Sizes::with);
    let guarded = ((guarded as u64 * PAGE) >> 10) as i64;
    sizes.data -= guarded;
    sizes.code += guarded;
    sizes
}

#[cfg(test)]
mod tests {
    use super::{Sizes, of};

    #[test]
    fn what_is_hidden_is_added_up_by_kind() {
        let list = b"\
00001000-00003000 r-xp 00000000 fe:00 12     /bin/a
Rss:                   8 kB
Anonymous:             0 kB
00010000-00020000 rw-p 00000000 00:00 0 
Rss:                  20 kB
Anonymous:            20 kB
00020000-00024000 r-xs 00000000 00:01 7      /memfd:code (deleted)
Rss:                   8 kB
Anonymous:             0 kB
00030000-00032000 r-xp 00000000 fe:00 13     /runtime
Rss:                   8 kB
Anonymous:             4 kB
";
        let expected = Sizes {
            total: 64 + 16 + 8,
            data: 64 - 4,
            code: 16 + 8 + 4,
            anonymous: 24,
            file: 4,
            shared: 8,
        };
        assert_eq!(of(list, &[(0x1_0000, 0x4_0000)], 1), expected);
        assert_eq!(of(list, &[], 0), Sizes::default());
    }
}
