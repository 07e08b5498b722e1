//! Cells in persisted code: a process decides which cells fragments have, and writes that into their
//! groups before they run.

use super::bound::Bound;
use crate::bundles::InUnit;
use crate::figures::Figures;
use alloc::vec::Vec;
use ppin_images::Home;
use ppin_os::mem;
use ppin_persist::{CodeGroup, Reject, SectionId};

impl Bound {
    /// Of `groups`, which lie one behind the other and are ready: those that may run, their code naming
    /// the cells that they have been given, number `from` and later.
    pub(super) fn with_cells(
        &mut self,
        mut groups: Vec<CodeGroup>,
        from: usize,
        image: Home<'_>,
        figures: &mut Figures,
    ) -> Vec<CodeGroup> {
        match self.name_cells(&groups, &self.cells[from..]) {
            Ok(written) => figures.relocations_applied += u64::from(written),
            // (Those behind it have been made to fit their place, which is done once.)
            Err((number, why)) => {
                let fine = groups.partition_point(|group| group.number < number);
                for group in groups.split_off(fine) {
                    self.refuse(group.number, why, image, figures);
                }
            }
        }
        groups
    }

    /// Says how many fields were written, or which group must not run.
    fn name_cells(&self, groups: &[CodeGroup], cells: &[InUnit]) -> Result<u32, (u32, Reject)> {
        let Some(first) = groups.first() else {
            return Ok(0);
        };
        // (A group that was refused has taken cells, too.)
        let of = |cells: &[InUnit]| groups.get((cells[0].group - first.number) as usize);
        let each = || {
            let chunks = cells.chunk_by(|one, next| one.group == next.group);
            chunks.filter_map(|cells| Some((of(cells)?, cells)))
        };
        let (Some((first, _)), Some((last, _))) = (each().next(), each().next_back()) else {
            return Ok(0);
        };
        let code = self.writable(first, last);
        let code = code.map_err(|why| (first.number, why))?;
        let mut written = 0;
        for (group, cells) in each() {
            let at = (group.offset - first.offset) as usize;
            let bytes = &mut code[at..at + group.len as usize];
            let fields = self.name_cells_of(group, cells, bytes);
            written += fields.map_err(|why| (group.number, why))?;
        }
        Ok(written)
    }

    fn name_cells_of(
        &self,
        group: &CodeGroup,
        cells: &[InUnit],
        bytes: &mut [u8],
    ) -> Result<u32, Reject> {
        let mut numbers = group.fragments.clone();
        cells.iter().try_fold(0, |written, placed| {
            let has = |n: &u32| (self.unit.info(*n)).is_ok_and(|it| placed.slot < it.slots.end);
            let number = numbers.find(has);
            let number = number.ok_or(Reject::Record(SectionId::Slots))?;
            let cells = placed.cells.range();
            Ok(written + self.unit.fix_cells(group, number, cells, bytes)?)
        })
    }

    /// The code from group `first` to group `last`, which do not run, to be written to.
    #[expect(
        clippy::mut_from_ref,
        reason = "code is reached through addresses only"
    )]
    fn writable(&self, first: &CodeGroup, last: &CodeGroup) -> Result<&mut [u8], Reject> {
        let start = self.hot() + u64::from(first.offset);
        let len = u64::from(last.offset + last.len - first.offset);
        // SAFETY: none of these groups runs: they have no execute permission yet.
        unsafe { mem::protect(start, len, mem::RW) }.map_err(|_| Reject::Forbidden)?;
        // SAFETY: writable now, and ours alone under the VM lock.
        Ok(unsafe { core::slice::from_raw_parts_mut(start as *mut u8, len as usize) })
    }
}
