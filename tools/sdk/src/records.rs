//! Records that translated code has appended to a buffer ([`ppin_api::Tool::buffer_full`]).

use ppin_api::Record;

/// The records in `bytes`, in their order. Bytes behind the last whole one are left out.
pub fn records<R: Record>(bytes: &[u8]) -> impl DoubleEndedIterator<Item = R> {
    let size = (R::SIZE as usize).max(1);
    bytes.chunks_exact(size).filter_map(R::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    ppin_api::record! {
        struct Pair {
            one: u32,
            other: u32,
        }
    }

    #[test]
    fn whole_records_are_read() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0];
        let found: Vec<_> = records::<Pair>(&bytes).map(|r| (r.one, r.other)).collect();
        assert_eq!(found, [(1, 2), (3, 4)]);
        assert_eq!(records::<Pair>(&[]).count(), 0);
    }
}
