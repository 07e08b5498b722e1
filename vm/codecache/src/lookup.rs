//! What a cache address belongs to, wherever its code is kept.

use crate::cache::CodeCache;
use crate::fresh::{FragmentId, Fresh};
use crate::spot::{Maps, Spot, spot_in};
use crate::unit::Bound;
use ppin_abi::addr::{AppPc, CachePc, ImageBase};
use ppin_abi::context::Context;
use ppin_abi::spills::SpillSet;
use ppin_images::ImageId;
use ppin_relocator::{PcRow, pc_flag};

impl CodeCache {
    /// Whether `addr` lies in fresh code or a mapped unit.
    #[must_use]
    pub fn in_cache(&self, addr: u64) -> bool {
        let fresh = self.fresh.chunks.iter().any(|c| c.contains(addr));
        fresh || self.fresh.retired.iter().any(|r| r.contains(addr)) || self.in_units(addr)
    }

    /// Whether `addr` lies in a mapped unit.
    #[must_use]
    pub fn in_units(&self, addr: u64) -> bool {
        self.unit_at(addr).is_some()
    }

    /// The unit that holds `addr`, with its image.
    #[must_use]
    pub fn unit_at(&self, addr: u64) -> Option<(ImageId, &Bound)> {
        self.units.at(addr)
    }

    /// Number of the fragment that was made since the last flush and holds `addr`.
    #[must_use]
    pub fn fresh_at(&self, addr: u64) -> Option<FragmentId> {
        self.fresh
            .chunks
            .iter()
            .find(|c| c.contains(addr))?
            .find(addr)
    }

    /// Entry of the fragment that holds cache address `addr` (hot or cold), if it was made
    /// in this process.
    #[must_use]
    pub fn hot_of(&self, addr: u64) -> Option<u64> {
        match self.fragment_at(addr) {
            Some(fresh) => Some(fresh.entry().0),
            None => self.fresh.retired_hot(addr),
        }
    }

    /// Base of the image whose code holds cache address `addr` (hot or cold).
    ///
    /// # Panics
    /// If `addr` is no cache address: records come from code that we emitted.
    #[must_use]
    pub fn base_at(&self, addr: u64) -> ImageBase {
        if let Some(fresh) = self.fragment_at(addr) {
            return self.images.get(fresh.image()).base;
        }
        if let Some(base) = self.fresh.retired_base(addr, &self.images) {
            return base;
        }
        let (image, _) = self.unit_at(addr).expect("a record lies in the cache");
        self.images.get(image).base
    }

    /// The maps of the fragment whose hot code holds `addr`.
    #[must_use]
    pub fn maps_at(&self, addr: u64) -> Option<Maps> {
        if let Some(fresh) = self.fragment_at(addr) {
            return self.fresh_maps(fresh, addr);
        }
        if let Some(maps) = self.fresh.retired_maps(addr, &self.images) {
            return Some(maps);
        }
        let (image, unit) = self.unit_at(addr)?;
        unit.maps(addr, self.images.get(image))
    }

    /// The maps of the fragment whose hot code holds `addr`, if it may be entered.
    #[must_use]
    pub fn running_maps(&self, addr: u64) -> Option<Maps> {
        if let Some(fresh) = self.fragment_at(addr) {
            let live = fresh.is_in_use();
            return self.fresh_maps(fresh, addr).filter(|_| live);
        }
        let (image, unit) = self.unit_at(addr)?;
        unit.running_maps(addr, self.images.get(image))
    }

    fn fresh_maps(&self, fresh: &Fresh, addr: u64) -> Option<Maps> {
        fresh.maps(addr, self.images.get(fresh.image()).counters)
    }

    /// Where the trace begins in the fragment that is entered at `entry` by calls of the CPU
    /// ([`Context::CALLED`]), and which registers of the app lie in slots there; `None`: it is not.
    #[must_use]
    pub fn begin_of_callee(&self, entry: CachePc) -> Option<(CachePc, SpillSet)> {
        if let Some(fresh) = self.fragment_at(entry.0) {
            let hot = fresh.space().hot;
            return begin_of_callee(entry, hot, fresh.context(), fresh.code().pc_map.iter());
        }
        let (_, unit) = self.unit_at(entry.0)?;
        let (hot, context, rows) = unit.rows_at(entry.0)?;
        begin_of_callee(entry, hot, context, rows)
    }

    /// What app instruction `address` (hot code) belongs to.
    #[must_use]
    pub fn spot(&self, address: u64) -> Option<Spot> {
        spot_in(&self.maps_at(address)?, address)
    }

    /// App address and context of a fragment that must not run, from the address
    /// at which it was entered. The links that lead there are taken back.
    ///
    /// # Panics
    /// If `addr` is not the entry of a unit's fragment.
    #[must_use]
    pub fn entry_of_refused(&mut self, addr: u64) -> (AppPc, Context) {
        let image = self.units.at(addr).map(|(image, _)| image);
        let image = image.expect("the caller found a unit");
        let home = self.images.home(image);
        let mut units = self.units.of_mut(image).iter_mut();
        let unit = units.find(|unit| unit.contains(addr));
        let unit = unit.expect("it is one of its image");
        unit.unlink_refused(home, &mut self.figures);
        unit.entry_at(addr, home.base)
    }
}

/// The first boundary of the fragment whose hot code begins at `hot`, if it is entered there by calls.
fn begin_of_callee(
    entry: CachePc,
    hot: u64,
    context: Context,
    mut rows: impl Iterator<Item = PcRow>,
) -> Option<(CachePc, SpillSet)> {
    let first = rows.find(|row| row.flags & pc_flag::BOUNDARY != 0)?;
    let called = context.contains(Context::CALLED) && entry.0 == hot;
    called.then(|| (CachePc(hot + u64::from(first.hot)), first.spilled))
}

#[cfg(test)]
mod tests;
