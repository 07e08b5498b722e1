//! Knowing what is executable without the kernel's list, which a sandboxed process may
//! not read: from the calls by which it becomes so. Whether other mappings may change
//! it unseen is remembered from the last look at the list; what was shared once is
//! taken for shared from then on.

use alloc::vec::Vec;
use ppin_os::maps::{self, MapEntry};

/// Shared memory, in case it is made executable later.
#[derive(Debug, Default)]
pub struct SharedMemory(Vec<(u64, u64)>);

impl SharedMemory {
    /// Looks at the kernel's list for the last time.
    pub fn learn(&mut self) {
        let listed = maps::read().unwrap_or_default();
        let shared = listed.iter().filter(|entry| entry.shared);
        self.0.extend(shared.map(|entry| (entry.start, entry.end)));
    }

    /// More of it.
    pub fn add(&mut self, start: u64, end: u64) {
        self.0.push((start, end));
    }

    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|(s, e)| *s < end && start < *e)
    }

    /// Memory that was made executable just now, as the list would have it.
    #[must_use]
    pub fn entry(&self, start: u64, end: u64, writable: bool) -> MapEntry {
        MapEntry {
            start,
            end,
            readable: true,
            writable,
            executable: true,
            shared: self.overlaps(start, end),
            ..MapEntry::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SharedMemory;

    #[test]
    fn shared_memory_stays_so() {
        let mut shared = SharedMemory::default();
        shared.add(0x1000, 0x3000);
        assert!(shared.entry(0x2000, 0x5000, true).shared);
        assert!(!shared.entry(0x3000, 0x5000, true).shared);
        assert!(!shared.entry(0, 0x1000, false).writable);
    }
}
