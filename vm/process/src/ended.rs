//! Counters of threads that have ended.

use alloc::vec::Vec;
use hashbrown::HashMap;

/// Number, kernel id and global counters of a thread.
pub type Counts = (u32, i32, Vec<u64>);

/// Counters of threads that have ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// Threads that have counted, in the order of their ends.
    threads: Vec<Counts>,
    /// Image counters, by displacement from `gs`. Corrections may make one part of a sum negative,
    /// so it wraps.
    images: HashMap<u64, u64>,
    /// The same of the bundles of live threads, when they were last looked at: one behind the
    /// other, from this displacement on.
    settled: (u64, Vec<u64>),
}

impl Ended {
    /// Adds the global counters of a thread, unless all are 0.
    pub fn add_thread(&mut self, counts: Counts) {
        if counts.2.iter().any(|count| *count != 0) {
            self.threads.push(counts);
        }
    }

    /// Adds `count` to the image counter at displacement `disp`.
    pub fn add_to_image(&mut self, disp: u64, count: u64) {
        if count != 0 {
            let sum = self.images.entry(disp).or_default();
            *sum = sum.wrapping_add(count);
        }
    }

    /// What bundles of live threads stand for, for image counters that lie one behind the other
    /// from displacement `first` on.
    pub fn settle(&mut self, first: u64, settled: Vec<u64>) {
        self.settled = (first, settled);
    }

    /// Threads that have counted, in the order of their ends.
    #[must_use]
    pub fn threads(&self) -> &[Counts] {
        &self.threads
    }

    /// Global counter `index` of thread `number`. (Threads that have ended last are found first.)
    #[must_use]
    pub fn global(&self, number: u32, index: u32) -> Option<u64> {
        let found = self.threads.iter().rev().find(|(id, _, _)| *id == number);
        found?.2.get(index as usize).copied()
    }

    /// The image counter at displacement `disp`, with what was settled.
    #[must_use]
    pub fn of_image(&self, disp: u64) -> u64 {
        let (first, settled) = &self.settled;
        let place = disp.checked_sub(*first).map(|bytes| bytes as usize / 8);
        let settled = place.and_then(|n| settled.get(n)).copied().unwrap_or(0);
        let ended = self.images.get(&disp).copied().unwrap_or(0);
        ended.wrapping_add(settled)
    }
}

#[cfg(test)]
mod tests {
    use super::Ended;

    #[test]
    fn threads_that_counted_nothing_are_not_kept() {
        let mut ended = Ended::default();
        ended.add_thread((1, 101, alloc::vec![0, 0]));
        ended.add_thread((2, 102, alloc::vec![0, 7]));
        assert_eq!(ended.threads(), [(2, 102, alloc::vec![0, 7])]);
        assert_eq!([ended.global(2, 0), ended.global(2, 1)], [Some(0), Some(7)]);
        assert_eq!(ended.global(1, 1), None);
    }

    #[test]
    fn image_counts_of_all_threads_add_up() {
        let mut ended = Ended::default();
        for (disp, count) in [(8, 3), (16, 0), (8, 4)] {
            ended.add_to_image(disp, count);
        }
        assert_eq!([ended.of_image(8), ended.of_image(16)], [7, 0]);
        assert_eq!(ended.images.len(), 1, "a count of 0 takes no room");
    }
}
