//! Side entrances: where control may enter a trace behind its head.
//!
//! At the boundary of an app instruction, all registers in place, a fragment goes on as one would that begins
//! there. So code that leads there need not be translated once more. That holds where nothing was inserted:
//! what counts the blocks of a trace, or is told of its head, must see each trace from its beginning.

use crate::pc_map::PcRow;
use crate::{CountRow, pc_flag};
use ppin_abi::context::Context;

/// Bytes before an instruction in which traces begin that are looked at for a side entrance. Few are longer.
pub const NEAR: u32 = 192;

/// Whether a trace under `context` that counts in these rows has side entrances. They are entered under
/// [`Context::CANONICAL`].
#[must_use]
pub fn may_enter_aside(context: Context, counts: &[CountRow]) -> bool {
    context.without(Context::CALLED) == Context::CANONICAL && counts.is_empty()
}

/// The side entrances of a fragment with these `rows`, by hot offset.
pub fn side_entrances(rows: impl Iterator<Item = PcRow>) -> impl Iterator<Item = PcRow> {
    rows.filter(|row| {
        let begins = row.flags & !pc_flag::BLOCK == pc_flag::BOUNDARY;
        begins && row.app > 0 && row.spilled.is_empty()
    })
}

/// Hot offset of the side entrance that is the instruction `app` bytes behind the head of a fragment with these
/// `rows`.
pub fn side_entrance(rows: impl Iterator<Item = PcRow>, app: u32) -> Option<u32> {
    // Boundaries follow each other as the app's instructions do; it need not be found if they do not.
    let next = side_entrances(rows).find(|row| row.app >= app)?;
    (next.app == app).then_some(next.hot)
}

/// How far behind the head the app instruction is that the side entrance at hot offset `hot` is.
pub fn entered_aside(rows: impl Iterator<Item = PcRow>, hot: u32) -> Option<u32> {
    let found = side_entrances(rows).find(|row| row.hot == hot);
    found.map(|row| row.app)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use ppin_abi::spills::{SpillSet, SpillSlot};

    const BEGINS: u8 = pc_flag::BOUNDARY;

    fn row((hot, app, flags): (u32, u32, u8)) -> PcRow {
        PcRow {
            hot,
            app,
            flags,
            spilled: SpillSet::NONE,
        }
    }

    #[test]
    fn boundaries_behind_the_head_are_entrances() {
        let rows = [
            (0, 0, BEGINS),
            (3, 3, BEGINS),
            (9, 5, BEGINS | pc_flag::BLOCK),
        ]
        .map(row);
        let all: Vec<u32> = side_entrances(rows.into_iter())
            .map(|row| row.app)
            .collect();
        assert_eq!(all, [3, 5]);
        assert_eq!(side_entrance(rows.into_iter(), 5), Some(9));
        assert_eq!(side_entrance(rows.into_iter(), 0), None, "that is the head");
        assert_eq!(
            side_entrance(rows.into_iter(), 4),
            None,
            "in an instruction"
        );
        assert_eq!(entered_aside(rows.into_iter(), 3), Some(3));
        assert_eq!(entered_aside(rows.into_iter(), 4), None);
    }

    #[test]
    fn what_needs_more_than_registers_in_place_is_none() {
        let ahead = row((3, 3, BEGINS | pc_flag::AHEAD));
        let inside = row((6, 5, 0));
        let slot = SpillSlot::new(0).expect("there is one");
        let spilled = PcRow {
            spilled: SpillSet::NONE.with(slot, 1),
            ..row((9, 7, BEGINS))
        };
        assert_eq!(
            side_entrances([ahead, inside, spilled].into_iter()).count(),
            0
        );
    }

    #[test]
    fn code_that_assumes_more_or_counts_has_none() {
        assert!(may_enter_aside(Context::CALLED, &[]));
        assert!(!may_enter_aside(Context::CONTINUATION, &[]));
        assert!(!may_enter_aside(Context::VOLATILE, &[]));
        let count = CountRow {
            done: 0,
            counter: 0,
            image: false,
            app: 0,
            amount: 1,
        };
        assert!(!may_enter_aside(Context::CANONICAL, &[count]));
    }
}
