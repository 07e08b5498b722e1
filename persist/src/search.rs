//! Searching records that are sorted.

use crate::record::Record;
use core::ops::Range;

/// First number in `range` for which `before` does not hold.
pub(crate) fn partition(range: Range<u32>, before: impl Fn(u32) -> bool) -> u32 {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = start + (end - start) / 2;
        if before(middle) {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    start
}

/// Record `number` of `bytes`.
pub(crate) fn read_at<T: Record>(bytes: &[u8], number: u32) -> Option<T> {
    let at = number as usize * T::LEN;
    T::get(bytes.get(at..at + T::LEN)?)
}
