//! Sizes of the runtime's part of the process, in the terms of `/proc/PID/status` and `statm`
//! (proc_pid_status(5)).

use crate::part::Part;
use ppin_os::mem::PAGE;

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

    /// Of all `parts`. The kernel counts the `guarded` pages as code, although the program has made them writable.
    #[must_use]
    pub(crate) fn of(parts: &[Part], guarded: usize) -> Self {
        let mut sizes = parts.iter().fold(Self::default(), Self::with);
        let guarded = kb(guarded as u64 * PAGE);
        sizes.data -= guarded;
        sizes.code += guarded;
        sizes
    }

    fn with(mut self, part: &Part) -> Self {
        self.total += kb(part.len);
        match part.perms {
            [_, b'w', _, b'p'] => self.data += kb(part.len),
            [_, b'-', b'x', _] => self.code += kb(part.len),
            _ => {}
        }
        self.anonymous += kb(part.resident.anonymous);
        let file = match part.is_shared_memory {
            true => &mut self.shared,
            false => &mut self.file,
        };
        *file += kb(part.resident.file);
        self
    }
}

fn kb(bytes: u64) -> i64 {
    (bytes >> 10) as i64
}

#[cfg(test)]
mod tests {
    use super::Sizes;
    use crate::part;

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
        let of = |hidden: &[_], guarded| Sizes::of(&part::listed(list, hidden), guarded);
        assert_eq!(of(&[(0x1_0000, 0x4_0000)], 1), expected);
        assert_eq!(of(&[], 0), Sizes::default());
    }
}
