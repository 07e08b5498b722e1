//! The pc map of a fragment: which app instruction each stretch of hot code belongs to, and where
//! the app's registers are there.
//!
//! It is kept as bytes, in memory as in unit files: most rows are one. Each says what changes from the row
//! before; the first one counts from the fragment's beginning.
//!
//! ```text
//! 0bhhhaaa                              an instruction begins (a basic block, if b), all registers in
//!                                       place: a + 1 app bytes and a + 1 + h hot bytes from the row before
//! 1nnnnnnn flags hot app                so many bytes from the row before (app: signed); spill set n
//! 11111110 flags n n hot(4) app(4)      so many bytes from the beginning
//! ```
//! Numbers of several bytes are little-endian. Spill set 0: all registers are in place; *n* is set
//! *n* - 1 of those that the rows need, in the order in which they need them.

use crate::fragment::pc_flag;
use alloc::vec::Vec;
use ppin_abi::spills::SpillSet;

/// One stretch of hot code; a stretch ends where the next begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PcRow {
    /// Hot offset of its first byte.
    pub hot: u32,
    /// App instruction it belongs to, in bytes from the head. A fault anywhere in
    /// the stretch is a fault of that instruction.
    pub app: u32,
    /// Registers whose app value lies in the spill area.
    pub spilled: SpillSet,
    /// Bits of [`pc_flag`].
    pub flags: u8,
}

/// First byte of a row that counts from the beginning.
const FROM_START: u8 = 0xfe;
/// First byte of a row that names a spill set: how it is told, and the sets that it can name.
const WITH_SET: u8 = 0x80;
const SETS: u16 = (FROM_START - WITH_SET) as u16;
/// Bit of the shortest rows.
const BLOCK: u8 = 0x40;
/// How many app bytes, and how many hot bytes more, the shortest rows tell apart.
const SHORT: u32 = 8;

/// Rows, ascending by hot offset.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PcMap {
    bytes: Vec<u8>,
    sets: Vec<SpillSet>,
}

impl PcMap {
    /// The rows as they are kept.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The sets of spilled registers that they name, in the order in which they need them.
    #[must_use]
    pub fn sets(&self) -> &[SpillSet] {
        &self.sets
    }

    /// The rows.
    pub fn iter(&self) -> impl Iterator<Item = PcRow> + use<'_> {
        let sets = &self.sets;
        // (The builder leaves none that makes no sense.)
        rows_of(&self.bytes, |number| sets.get(number).copied()).flatten()
    }

    /// The last row whose stretch begins at or before hot offset `hot`.
    #[must_use]
    pub fn row_at(&self, hot: u32) -> Option<PcRow> {
        self.iter().take_while(|row| row.hot <= hot).last()
    }

    fn put(&mut self, from: PcRow, row: &PcRow) {
        let near = row.hot.wrapping_sub(from.hot);
        let app = i64::from(row.app) - i64::from(from.app);
        if let Some(byte) = shortest(near, app, row) {
            return self.bytes.push(byte);
        }
        let set = self.number(row.spilled);
        match (u8::try_from(near), i8::try_from(app)) {
            (Ok(hot), Ok(app)) if set < SETS => {
                let app = app.cast_unsigned();
                let first = WITH_SET | set as u8;
                self.bytes.extend([first, row.flags, hot, app]);
            }
            _ => {
                self.bytes.extend([FROM_START, row.flags]);
                self.bytes.extend(set.to_le_bytes());
                self.bytes.extend(row.hot.to_le_bytes());
                self.bytes.extend(row.app.to_le_bytes());
            }
        }
    }

    fn number(&mut self, set: SpillSet) -> u16 {
        if set.is_empty() {
            return 0;
        }
        let known = self.sets.iter().position(|known| *known == set);
        let index = known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        u16::try_from(index + 1).expect("a fragment has fewer rows")
    }
}

impl FromIterator<PcRow> for PcMap {
    fn from_iter<I: IntoIterator<Item = PcRow>>(rows: I) -> Self {
        let mut map = PcMapBuilder::with_capacity(0);
        rows.into_iter().for_each(|row| map.push(row));
        map.finish()
    }
}

/// The shortest form of a row, if it has that.
fn shortest(near: u32, app: i64, row: &PcRow) -> Option<u8> {
    let app = u32::try_from(app - 1).ok().filter(|app| *app < SHORT)?;
    let more = near.checked_sub(app + 1).filter(|more| *more < SHORT)?;
    let begins = row.flags & !pc_flag::BLOCK == pc_flag::BOUNDARY;
    let block = if row.flags & pc_flag::BLOCK == 0 {
        0
    } else {
        BLOCK
    };
    (begins && row.spilled.is_empty()).then_some(block | (more * SHORT + app) as u8)
}

/// A pc map under construction. The last row may yet change.
#[derive(Debug)]
pub struct PcMapBuilder {
    map: PcMap,
    /// The row before the last.
    from: PcRow,
    last: Option<PcRow>,
}

impl PcMapBuilder {
    /// An empty one, with room for so many bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            map: PcMap {
                bytes: Vec::with_capacity(bytes),
                sets: Vec::new(),
            },
            from: PcRow::default(),
            last: None,
        }
    }

    /// Adds a row behind the others.
    pub fn push(&mut self, row: PcRow) {
        self.settle();
        self.last = Some(row);
    }

    /// The last row.
    #[must_use]
    pub fn last_mut(&mut self) -> Option<&mut PcRow> {
        self.last.as_mut()
    }

    fn settle(&mut self) {
        if let Some(row) = self.last.take() {
            self.map.put(self.from, &row);
            self.from = row;
        }
    }

    /// The map of these rows.
    #[must_use]
    pub fn finish(mut self) -> PcMap {
        self.settle();
        self.map.bytes.shrink_to_fit();
        self.map.sets.shrink_to_fit();
        self.map
    }
}

/// The rows in `bytes`, which name spill sets by their index in the `sets`; `None` for one that makes no
/// sense, behind which there is none.
pub fn rows_of(
    mut bytes: &[u8],
    sets: impl Fn(usize) -> Option<SpillSet>,
) -> impl Iterator<Item = Option<PcRow>> {
    let mut at = PcRow::default();
    core::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let row = read(&mut bytes, at, &sets);
        match row {
            Some(row) => at = row,
            None => bytes = &[],
        }
        Some(row)
    })
}

/// Takes the first row from `bytes`; `from` is the one before.
fn read(bytes: &mut &[u8], from: PcRow, sets: impl Fn(usize) -> Option<SpillSet>) -> Option<PcRow> {
    let [first] = take(bytes)?;
    if first < WITH_SET {
        let (app, more) = (
            u32::from(first) % SHORT + 1,
            u32::from(first & !BLOCK) / SHORT,
        );
        let block = if first & BLOCK == 0 {
            0
        } else {
            pc_flag::BLOCK
        };
        return Some(PcRow {
            hot: from.hot.checked_add(app + more)?,
            app: from.app.checked_add(app)?,
            spilled: SpillSet::NONE,
            flags: pc_flag::BOUNDARY | block,
        });
    }
    let [flags] = take(bytes)?;
    let (set, hot, app) = match first {
        FROM_START => (
            u16::from_le_bytes(take(bytes)?),
            u32::from_le_bytes(take(bytes)?),
            u32::from_le_bytes(take(bytes)?),
        ),
        u8::MAX => return None,
        _ => {
            let [hot, app] = take(bytes)?;
            let app = from.app.checked_add_signed(app.cast_signed().into())?;
            let hot = from.hot.checked_add(hot.into())?;
            (u16::from(first - WITH_SET), hot, app)
        }
    };
    let spilled = match usize::from(set).checked_sub(1) {
        Some(index) => sets(index)?,
        None => SpillSet::NONE,
    };
    Some(PcRow {
        hot,
        app,
        spilled,
        flags,
    })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppin_abi::spills::SpillSlot;
    use proptest::prelude::*;

    fn row((hot, app, flags, set): (u32, u32, u8, u8)) -> PcRow {
        let slot = SpillSlot::new(usize::from(set / 16));
        PcRow {
            hot,
            app,
            flags,
            spilled: match slot {
                Some(slot) if set % 16 != 4 => SpillSet::NONE.with(slot, set % 16),
                _ => SpillSet::NONE,
            },
        }
    }

    fn any_row() -> impl Strategy<Value = (u32, u32, u8, u8)> {
        prop_oneof![
            (0..600_u32, 0..300_u32, any::<u8>(), any::<u8>()),
            (0..60_u32, 0..40_u32, Just(1_u8), Just(255_u8)),
            any::<(u32, u32, u8, u8)>(),
        ]
    }

    proptest! {
        #[test]
        fn rows_come_back(rows in proptest::collection::vec(any_row(), 0..200)) {
            let mut rows: Vec<PcRow> = rows.into_iter().map(row).collect();
            rows.sort_by_key(|row| row.hot);
            let map: PcMap = rows.iter().copied().collect();
            prop_assert_eq!(map.iter().collect::<Vec<_>>(), rows);
        }

        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let all: Vec<_> = rows_of(&bytes, |n| (n < 3).then_some(SpillSet::NONE)).collect();
            let nonsense = all.iter().position(Option::is_none);
            prop_assert!(nonsense.is_none_or(|at| at + 1 == all.len()));
        }
    }

    #[test]
    fn an_instruction_that_is_as_the_app_has_it_takes_a_byte() {
        let rows = [
            (0, 0, 5, 255),
            (3, 3, 1, 255),
            (11, 5, 5, 255),
            (12, 6, 1, 255),
        ]
        .map(row);
        let map: PcMap = rows.into_iter().collect();
        assert_eq!(map.bytes().len(), 4 + 3);
        assert_eq!(map.row_at(10), Some(rows[1]));
        assert_eq!(map.row_at(11), Some(rows[2]));
    }

    #[test]
    fn rows_that_are_far_or_name_many_sets_come_back() {
        let sets = (0..128).filter(|set| set % 16 != 4);
        let rows: Vec<PcRow> = sets
            .map(|set| row((300 * u32::from(set), 7, 2, set)))
            .collect();
        let map: PcMap = rows.iter().copied().collect();
        assert_eq!(map.sets().len(), 120);
        assert!(map.iter().eq(rows));
    }

    #[test]
    fn the_last_row_may_change() {
        let mut map = PcMapBuilder::with_capacity(8);
        assert!(map.last_mut().is_none());
        map.push(row((0, 0, 1, 255)));
        map.push(row((4, 4, 0, 255)));
        *map.last_mut().unwrap() = row((4, 4, 1, 255));
        let map = map.finish();
        assert!(map.iter().eq([(0, 0, 1, 255), (4, 4, 1, 255)].map(row)));
    }

    #[test]
    fn what_names_no_set_or_is_cut_off_makes_no_sense() {
        let row = |bytes: &[u8]| rows_of(bytes, |_| None).next().unwrap();
        assert_eq!(row(&[WITH_SET | 1, 0, 1, 1]), None);
        assert_eq!(row(&[WITH_SET, 0, 1]), None);
        assert_eq!(row(&[WITH_SET, 0, 1, 0xff]), None, "before the head");
        assert_eq!(row(&[0xff, 0, 1, 1]), None);
        assert!(row(&[WITH_SET, 0, 1, 1]).is_some());
    }
}
