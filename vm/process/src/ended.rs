//! Counters of threads that have ended.

use alloc::vec::Vec;
use hashbrown::HashMap;

/// Counters of threads that have ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// Global counters by thread number.
    pub threads: Vec<(u32, i32, Vec<u64>)>,
    /// Image counters, by displacement from `gs`.
    pub images: HashMap<u64, u64>,
}
