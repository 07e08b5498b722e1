//! What a translated run leaves beside the app: counters, records, and what routines collected.

use super::{AREA, BUNDLES, CODE, GLOBALS, IMAGE_COUNTERS, Machine, RECORDS};
use crate::common::host_code;
use crate::common::routines::Sums;
use ppin_abi::buffers;
use ppin_abi::counters::Cells;
use ppin_abi::optimize::Optimize;
use ppin_relocator::{CountRow, Fragment};

/// What a translated run left beside.
#[derive(Debug)]
pub struct Side {
    pub global: Vec<u64>,
    pub image: Vec<u64>,
    /// Records of the buffers.
    pub records: [Vec<u8>; 2],
    pub calls: u64,
    /// Instructions executed when it left, if that was by an exit.
    pub executed: Option<u32>,
    /// Whether it ended in the middle of its code, by a fault.
    pub fault: bool,
    /// What plain routines have collected.
    pub sums: Sums,
}

impl Machine {
    /// Adds to the image's counters what the cells of the fragment's bundles stand for.
    fn multiply_out(&mut self, fragment: &Fragment, side: &mut Side) {
        let Some(count) = fragment.cells().map(usize::from) else {
            return;
        };
        let of_image: Vec<&CountRow> = fragment.counts.iter().filter(|row| row.image).collect();
        let bundles: Vec<_> = of_image
            .chunk_by(|one, next| one.done == next.done)
            .collect();
        assert_eq!(bundles.len(), count, "each bundle has a cell");
        for (n, rows) in bundles.into_iter().enumerate() {
            let entries = self.area_word(BUNDLES as usize + 8 * n);
            for row in rows {
                side.image[row.counter as usize / 8] += entries * u64::from(row.amount);
            }
        }
    }

    /// Counters, corrected for the place `(hot, app pc)` of a fault.
    pub(super) fn side(
        &mut self,
        fragment: &Fragment,
        executed: Option<u32>,
        fault: Option<(u32, u64)>,
    ) -> Side {
        let mut side = Side {
            global: (0..GLOBALS).map(|index| self.global(index)).collect(),
            image: (0..ppin_api::OPCODES as usize)
                .map(|i| self.area_word(IMAGE_COUNTERS as usize + 8 * i))
                .collect(),
            records: [0, 1].map(|buffer| self.records(buffer)),
            calls: self.area_word(host_code::CALLS),
            executed,
            fault: fault.is_some(),
            sums: *self.sums,
        };
        self.multiply_out(fragment, &mut side);
        if let Some((hot, pc)) = fault {
            let app = (pc - self.app() - CODE) as u32;
            for row in &fragment.counts {
                match buffers::of_cell(row.counter.into()).filter(|_| !row.image) {
                    None => side.correct(row, hot, app),
                    Some(buffer) => {
                        let bytes = self.records_at(buffer, RECORDS);
                        side.correct_records(row, hot, app, usize::from(buffer), &bytes);
                    }
                }
            }
        }
        side
    }

    /// What has been appended to `buffer`.
    fn records(&mut self, buffer: u16) -> Vec<u8> {
        let position = self.area_word(buffers::cell(buffer) as usize);
        let len = position - u64::from(buffers::START);
        self.records_at(buffer, len as usize)
    }

    fn records_at(&mut self, buffer: u16, len: usize) -> Vec<u8> {
        let start = buffer_start(buffer);
        self.near_bytes()[start..start + len].to_vec()
    }

    fn global(&mut self, index: u32) -> u64 {
        cells()
            .of(index)
            .map(|disp| self.area_word(disp as usize))
            .sum()
    }
}

fn cells() -> Cells {
    Cells::new(GLOBALS, Optimize::ALL)
}

/// Where records of `buffer` begin.
pub(super) fn buffer_start(buffer: u16) -> usize {
    let at = buffers::START.cast_signed() + buffers::memory(buffer);
    AREA.wrapping_add_signed(at.into()) as usize
}

impl Side {
    /// The same for records, of which the instruction that faults has its own.
    fn correct_records(&mut self, row: &CountRow, hot: u32, app: u32, n: usize, bytes: &[u8]) {
        let (paid, reached) = (hot >= row.done, row.app <= app);
        let len = self.records[n].len();
        let amount = row.amount as usize;
        if paid && !reached {
            self.records[n].truncate(len - amount);
        } else if !paid && reached {
            self.records[n] = bytes[..len + amount].to_vec();
        }
    }

    /// Takes back what was paid for instructions that did not run, adds what was not
    /// yet paid for those that did.
    fn correct(&mut self, row: &CountRow, hot: u32, app: u32) {
        let counter = if row.image {
            &mut self.image[row.counter as usize / 8]
        } else {
            let index = cells().counter_at(row.counter).expect("a cell");
            &mut self.global[index as usize]
        };
        let paid = hot >= row.done;
        let executed = row.app < app;
        if paid && !executed {
            *counter -= u64::from(row.amount);
        } else if !paid && executed {
            *counter += u64::from(row.amount);
        }
    }
}
