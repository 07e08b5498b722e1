//! The pc map in a file: four bytes a row, which say what changes from the row before.
//!
//! Where the next row is too far for a byte, jumps stand before it: records whose set of spilled
//! registers has the number [`JUMP`]. Rows of a fragment are read from its first one on.

use crate::layout::SectionId;
use crate::record::{PcRec, Record};
use crate::spills::Window;
use ppin_relocator::PcRow;

/// No window has a set of this number: the record is a jump, by 256 times `hot` bytes of hot code,
/// and by 128 times `app` bytes of the app.
const JUMP: u8 = u8::MAX;
/// Places beyond this make no sense.
const FAR: u32 = 1 << 24;

/// Passes on the records that lead from `from` to `to`, of which the last one is `to` itself, if its
/// spilled registers have the number `spilled`. `None`: it lies before `from`, or too far.
#[inline]
pub(crate) fn store(
    from: PcRow,
    to: &PcRow,
    spilled: u8,
    mut put: impl FnMut(PcRec),
) -> Option<()> {
    if to.hot >= FAR || to.app >= FAR {
        return None;
    }
    let hot = to.hot.checked_sub(from.hot)?;
    let app = to.app.cast_signed() - from.app.cast_signed();
    let (mut far_hot, mut far_app) = (hot >> 8, app >> 7);
    while (far_hot, far_app) != (0, 0) {
        let jump = PcRec {
            hot: far_hot.min(u8::MAX.into()) as u8,
            app: far_app.clamp(i8::MIN.into(), i8::MAX.into()) as i8,
            flags: 0,
            spilled: JUMP,
        };
        far_hot -= u32::from(jump.hot);
        far_app -= i32::from(jump.app);
        put(jump);
    }
    put(PcRec {
        hot: hot as u8,
        app: (app & 0x7f) as i8,
        flags: to.flags,
        spilled,
    });
    Some(())
}

/// Number of records of a fragment whose pc map is `rows`; `None`: one cannot be stored.
pub(crate) fn records(rows: &[PcRow]) -> Option<u32> {
    let (mut from, mut count) = (PcRow::default(), 0);
    for row in rows {
        store(from, row, 0, |_| count += 1)?;
        from = *row;
    }
    Some(count)
}

/// The rows in `bytes` of a pc map; `None` for one that makes no sense.
pub(crate) fn load<'a>(
    bytes: &'a [u8],
    window: Window<'a>,
) -> impl Iterator<Item = Option<PcRow>> + use<'a> {
    let mut at = PcRow::default();
    let records = bytes.chunks_exact(SectionId::PcRows.record_len());
    records.filter_map(move |bytes| {
        let Some(record) = PcRec::get(bytes) else {
            return Some(None);
        };
        let is_jump = record.spilled == JUMP;
        let scale = if is_jump { (256, 128) } else { (1, 1) };
        at.hot = at.hot.wrapping_add(scale.0 * u32::from(record.hot));
        at.app = at.app.wrapping_add_signed(scale.1 * i32::from(record.app));
        let sensible = at.hot < FAR && at.app < FAR;
        let row = || {
            Some(PcRow {
                flags: record.flags,
                spilled: window.set(record.spilled).filter(|_| sensible)?,
                ..at
            })
        };
        (!is_jump).then(row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn row((hot, app, flags): (u32, u32, u8)) -> PcRow {
        PcRow {
            hot,
            app,
            flags,
            ..PcRow::default()
        }
    }

    fn stored(rows: &[PcRow]) -> Option<Vec<u8>> {
        let (mut bytes, mut from) = (Vec::new(), PcRow::default());
        for row in rows {
            store(from, row, 0, |record| record.put(&mut bytes))?;
            from = *row;
        }
        Some(bytes)
    }

    proptest! {
        #[test]
        fn rows_come_back(rows in proptest::collection::vec(
            prop_oneof![(0..600_u32, 0..300_u32, any::<u8>()), (0..FAR, 0..FAR, any::<u8>())],
            0..20,
        )) {
            let mut rows: Vec<PcRow> = rows.into_iter().map(row).collect();
            rows.sort_by_key(|row| row.hot);
            let bytes = stored(&rows).unwrap();
            let back: Option<Vec<PcRow>> = load(&bytes, Window::new(&[])).collect();
            prop_assert_eq!(back, Some(rows));
        }

        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let rows = load(&bytes, Window::new(&[]));
            prop_assert!(rows.flatten().all(|row| row.hot < FAR && row.app < FAR));
        }
    }

    #[test]
    fn near_rows_need_one_record_each() {
        let rows = [(0, 0, 1), (255, 127, 2), (300, 254, 4)].map(row);
        assert_eq!(stored(&rows).unwrap().len(), 3 * 4);
    }

    #[test]
    fn rows_must_ascend_and_be_near_enough() {
        assert!(stored(&[row((5, 0, 0)), row((4, 0, 0))]).is_none());
        assert!(stored(&[row((FAR, 0, 0))]).is_none());
        assert!(stored(&[row((0, FAR, 0))]).is_none());
    }
}
