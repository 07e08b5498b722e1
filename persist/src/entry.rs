//! Entry points, as the writer sorts them.

use crate::spec::Piece;
use ppin_relocator::may_enter_aside;

/// An entry point as one number that sorts by head, then by context.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct EntryKey(u64);

impl EntryKey {
    pub(crate) const fn new(head: i32, context: u32) -> Self {
        Self(((head as u32 ^ 0x8000_0000) as u64) << 32 | context as u64)
    }
    pub(crate) const fn head(self) -> i32 {
        ((self.0 >> 32) as u32 ^ 0x8000_0000) as i32
    }
    pub(crate) const fn context(self) -> u32 {
        self.0 as u32
    }
}

/// An entry point in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Indexed {
    pub key: EntryKey,
    /// Number of the fragment.
    pub fragment: u32,
    /// App bytes of its trace, if that has side entrances; else 0.
    pub enters: u32,
}

impl Indexed {
    pub(crate) fn new((fragment, piece): (u32, &Piece<'_>)) -> Self {
        let code = &piece.fragment;
        let enters = may_enter_aside(code.context, code.counts);
        let len = code.source_len.saturating_sub(code.beyond);
        Self {
            key: EntryKey::new(code.head.0, code.context.0),
            fragment,
            enters: if enters { len } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_keys_sort_by_signed_head_then_context() {
        let keys = [(-5, 7), (-1, 0), (0, 0), (0, 1), (9, 0)];
        let sorted: Vec<_> = keys
            .iter()
            .map(|&(head, ctx)| EntryKey::new(head, ctx))
            .collect();
        assert!(sorted.is_sorted());
        for (key, &(head, context)) in sorted.iter().zip(&keys) {
            assert_eq!((key.head(), key.context()), (head, context));
        }
    }
}
