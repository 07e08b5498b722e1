//! Who does the work.

use alloc::vec::Vec;

/// Does a thing for each of many items. The caller says how many hands there are.
pub trait Workers {
    /// What `work` makes of the `items`, in their order.
    fn map<T: Sync, R: Send>(&self, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R>;
}

/// One item after the other, on the thread of the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Workers for Alone {
    fn map<T: Sync, R: Send>(&self, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
        items.iter().map(work).collect()
    }
}

/// Items in equal shares, one for each thread.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub struct Threads(core::num::NonZeroUsize);

#[cfg(feature = "std")]
mod threads {
    use super::{Threads, Vec, Workers};
    use core::num::NonZeroUsize;
    use std::thread;

    /// Fewer items are not worth a thread.
    const SHARE: usize = 64;

    impl Threads {
        /// As many as there are processors for us.
        #[must_use]
        pub fn all() -> Self {
            Self(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
        }

        /// So many.
        #[must_use]
        pub const fn new(count: NonZeroUsize) -> Self {
            Self(count)
        }
    }

    impl Workers for Threads {
        fn map<T: Sync, R: Send>(&self, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
            let share = items.len().div_ceil(self.0.get()).max(SHARE);
            let work = &work;
            thread::scope(|scope| {
                let mut shares = items.chunks(share);
                let ours = shares.next().unwrap_or_default();
                let theirs: Vec<_> = shares
                    .map(|share| scope.spawn(move || share.iter().map(work).collect::<Vec<R>>()))
                    .collect();
                let mut done: Vec<R> = ours.iter().map(work).collect();
                for thread in theirs {
                    done.extend(thread.join().expect("a worker does not panic"));
                }
                done
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::num::NonZeroUsize;

    #[test]
    fn the_order_does_not_depend_on_the_number_of_workers() {
        let items: Vec<u32> = (0..1000).collect();
        let alone = Alone.map(&items, |n| n * 3);
        for count in [1, 2, 3, 7, 2000] {
            let threads = Threads::new(NonZeroUsize::new(count).unwrap());
            assert_eq!(threads.map(&items, |n| n * 3), alone, "{count}");
        }
        assert_eq!(Threads::all().map(&[0; 0], |n| *n), [0; 0]);
    }
}
