//! A restartable sequence (rseq(2)) that a thread was stopped in.
//!
//! The kernel would abort it when the thread goes on, by the thread's pc; but the thread goes on in the runtime. So it
//! is aborted here: a stop may do that at any time.

/// Offset of `rseq_cs` in `struct rseq`.
pub const FIELD: u64 = 8;

/// Bytes of `struct rseq_cs`.
pub const LEN: usize = 32;

/// Where a thread goes on that was stopped at `pc`, if that lies in the sequence of which `descriptor` is the
/// `struct rseq_cs`: version and flags, start, length, abort handler.
pub fn aborted(pc: u64, descriptor: &[u8; LEN]) -> Option<u64> {
    let (words, _) = descriptor.as_chunks::<8>();
    let [_, start, len, abort] = [0, 1, 2, 3].map(|n| u64::from_le_bytes(words[n]));
    (pc.wrapping_sub(start) < len).then_some(abort)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_thread_inside_is_aborted() {
        let mut descriptor = [0; LEN];
        for (to, word) in descriptor.chunks_mut(8).zip([0_u64, 0x1000, 0x20, 0x5000]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let at = |pc| aborted(pc, &descriptor);
        assert_eq!([at(0x1000), at(0x101f)], [Some(0x5000); 2]);
        assert_eq!([at(0xfff), at(0x1020)], [None; 2]);
    }
}
