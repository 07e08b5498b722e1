//! What counters have come to.

use super::images::ImageId;
use super::threads::ThreadId;

/// The counters that translated code adds to.
pub trait Counters {
    /// Global counter `index`, summed over all threads, ended ones included.
    fn global_total(&self, index: u32) -> u64;

    /// Global counter `index` of one thread, running or ended.
    fn global_of(&self, thread: ThreadId, index: u32) -> u64;

    /// Image counter `index` of one image, summed over all threads.
    fn image_total(&self, image: ImageId, index: u32) -> u64;
}
