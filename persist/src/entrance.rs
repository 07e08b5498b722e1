//! Side entrances of a unit's fragments ([`ppin_relocator::side_entrances`]): where code goes on that leads into
//! the middle of a trace.
//!
//! They are in no index: which they are follows from the pc maps. Of several traces that hold an instruction, the
//! one is taken that begins nearest before it.

use crate::Reject;
use crate::record::ENTRANCES;
use crate::tables::FragmentInfo;
use crate::unit::VerifiedUnit;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_relocator::entrance::NEAR;
use ppin_relocator::{PcRow, entered_aside, may_enter_aside, side_entrance, side_entrances};

impl<'a> VerifiedUnit<'a> {
    /// Offset in the hot section where the code at `off` is entered under `context`, at a head or aside.
    ///
    /// # Errors
    /// A table that tells is damaged.
    pub fn entrance(&self, off: ImageOff, context: Context) -> Result<Option<u32>, Reject> {
        match self.lookup(off, context)? {
            Some(entry) => Ok(Some(entry.hot)),
            None if context == Context::CANONICAL => self.side_entrance(off),
            None => Ok(None),
        }
    }

    /// Offset in the hot section of a side entrance that is the instruction at `off`, if there is one.
    ///
    /// # Errors
    /// A table that tells is damaged.
    pub fn side_entrance(&self, off: ImageOff) -> Result<Option<u32>, Reject> {
        if !self.has_side_entrances() {
            return Ok(None);
        }
        for number in (0..self.first_entry_from(off)).rev() {
            let entry = self.entry(number)?;
            let app = off.0.abs_diff(entry.head.0);
            if app > NEAR {
                break;
            }
            let info = self.info(entry.fragment)?;
            if app < info.trace_len()
                && self.may_enter_aside(&info)?
                && let Some(hot) = side_entrance(self.pc_rows(info.number)?, app)
                && let Some(hot) = within(&info, hot)
            {
                return Ok(Some(hot));
            }
        }
        Ok(None)
    }

    /// Whether its exits may lead to side entrances.
    #[must_use]
    pub fn has_side_entrances(&self) -> bool {
        self.header.flags & ENTRANCES != 0
    }

    /// The app instruction that is the side entrance at `hot` in the hot section, if there is one in that fragment.
    #[must_use]
    pub fn entered_aside(&self, info: &FragmentInfo, hot: u32) -> Option<ImageOff> {
        let rows = self.rows_to_enter(info)?;
        let app = entered_aside(rows, hot.checked_sub(info.hot.start)?)?;
        info.head.0.checked_add_unsigned(app).map(ImageOff)
    }

    /// The side entrances of a fragment: the app instructions, and where in the hot section they are entered.
    pub fn side_entrances(&self, info: &FragmentInfo) -> impl Iterator<Item = (ImageOff, u32)> {
        let rows = self.rows_to_enter(info).into_iter().flatten();
        side_entrances(rows).filter_map(|row| {
            let off = info.head.0.checked_add_unsigned(row.app)?;
            Some((ImageOff(off), within(info, row.hot)?))
        })
    }

    /// The pc map of a fragment that has side entrances.
    fn rows_to_enter(&self, info: &FragmentInfo) -> Option<impl Iterator<Item = PcRow> + use<'a>> {
        let enters = self.has_side_entrances() && self.may_enter_aside(info).ok()?;
        enters.then(|| self.pc_rows(info.number).ok()).flatten()
    }

    fn may_enter_aside(&self, info: &FragmentInfo) -> Result<bool, Reject> {
        let counted = self.counts(info.number)?.next().is_some();
        Ok(!counted && may_enter_aside(info.context, &[]))
    }
}

/// Offset in the hot section of byte `hot` of the fragment, if it has one.
fn within(info: &FragmentInfo, hot: u32) -> Option<u32> {
    let at = info.hot.start.checked_add(hot)?;
    info.hot.contains(&at).then_some(at)
}
