//! The cache.

use ppin_sdk::prelude::*;

/// Bytes of a line.
const LINE: u64 = 64;
const SETS: usize = 64;
const WAYS: usize = 8;

/// A cache of one thread, and what it has counted: for reads, and for writes. Accesses that hit the line
/// which was used last leave no trace here; how many accesses there were, counters know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cache {
    /// Addresses of lines by set, the one used last first.
    sets: [[u64; WAYS]; SETS],
    /// Lines that accesses covered besides the one that each is counted for.
    more: [u64; 2],
    misses: [u64; 2],
}

impl Default for Cache {
    /// Each set has a line of its neighbour in the place of lines: no address of its own is in that.
    fn default() -> Self {
        Self {
            sets: core::array::from_fn(|set| [(set as u64 ^ 1) * LINE; WAYS]),
            more: [0; 2],
            misses: [0; 2],
        }
    }
}

impl Merge for Cache {
    fn merge(&mut self, other: &Self) {
        for kind in 0..2 {
            self.more[kind] += other.more[kind];
            self.misses[kind] += other.misses[kind];
        }
    }
}

impl Cache {
    /// One access to `bytes` at `address`. Most are to one line, the one that was used last: they lie
    /// behind its address, and not more than the rest of it.
    #[inline(always)]
    pub(crate) fn access(&mut self, address: u64, bytes: u64, kind: usize) {
        let distance = address.wrapping_sub(self.set(address)[0]);
        if bytes > LINE || distance > LINE - bytes {
            self.sweep(address, bytes, kind);
        }
    }

    /// Accesses all lines of `bytes` at `address`, which is counted as one.
    #[cold]
    #[inline(never)]
    pub(crate) fn sweep(&mut self, address: u64, bytes: u64, kind: usize) {
        let last = address.wrapping_add(bytes.wrapping_sub(1)) / LINE;
        let mut line = address / LINE;
        self.line(line * LINE, kind % 2);
        while line < last {
            line += 1;
            self.more[kind % 2] += 1;
            self.line(line * LINE, kind % 2);
        }
    }

    /// The same, if it is not counted.
    pub(crate) fn sweep_uncounted(&mut self, address: u64, bytes: u64, kind: usize) {
        self.more[kind % 2] += 1;
        self.sweep(address, bytes, kind);
    }

    /// Accesses the line at `line`. It comes first, and those before where it was move on; all of them,
    /// if it was not there, and the last one is gone.
    #[inline(always)]
    fn line(&mut self, line: u64, kind: usize) {
        let mut moved = line;
        for way in self.set(line) {
            core::mem::swap(way, &mut moved);
            if moved == line {
                return;
            }
        }
        self.misses[kind] += 1;
    }

    #[inline(always)]
    fn set(&mut self, address: u64) -> &mut [u64; WAYS] {
        &mut self.sets[(address / LINE) as usize % SETS]
    }

    /// Names of counts, and the counts, after so many reads and writes.
    pub(crate) fn rows(&self, counted: [u64; 2]) -> [(&'static str, u64); 4] {
        let [reads, writes] = [0, 1].map(|kind| counted[kind] + self.more[kind]);
        [
            ("reads", reads),
            ("read_misses", self.misses[0]),
            ("writes", writes),
            ("write_misses", self.misses[1]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misses(accesses: &[(u64, u64)]) -> (u64, u64) {
        let mut cache = Cache::default();
        for (address, bytes) in accesses {
            cache.access(*address, *bytes, 0);
        }
        let lines = accesses.len() as u64 + cache.more[0];
        (cache.misses[0], lines - cache.misses[0])
    }

    #[test]
    fn lines_that_were_used_are_found() {
        assert_eq!(misses(&[(0x1000, 8), (0x1038, 8), (0x1040, 1)]), (2, 1));
        assert_eq!(
            misses(&[(0x103c, 8), (0x1000, 8), (0x1040, 8)]),
            (2, 2),
            "two lines"
        );
        assert_eq!(
            misses(&[(u64::MAX, 1), (u64::MAX - 3, 8)]),
            (1, 1),
            "the last line"
        );
    }

    #[test]
    fn the_line_that_was_not_used_for_longest_goes() {
        let way = |n: u64| (n * 4096, 8);
        let mut all: Vec<_> = (0..8).map(way).collect();
        all.extend([way(0), way(8), way(0), way(1)]);
        assert_eq!(misses(&all), (10, 2));
    }

    #[test]
    fn caches_are_added_up_by_their_counts() {
        let mut one = Cache::default();
        one.access(60, 8, 1);
        let mut other = Cache::default();
        other.merge(&one);
        other.merge(&one);
        let rows = other.rows([0, 2]);
        assert_eq!(rows[2..], [("writes", 4), ("write_misses", 4)]);
    }
}
