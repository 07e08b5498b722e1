//! What a cache address belongs to, wherever its code is kept.

use crate::cache::CodeCache;
use crate::image::ImageId;
use crate::spot::{Maps, Spot, spot_in};
use crate::unit::Bound;
use ppin_abi::addr::{AppPc, ImageBase};
use ppin_abi::context::Context;

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

    /// The live fresh fragment that holds `addr`.
    #[must_use]
    pub fn fresh_at(&self, addr: u64) -> Option<u32> {
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
        match self.fresh_at(addr) {
            Some(id) => Some(self.fresh.directory.fragments[id as usize].space.hot),
            None => self.fresh.retired_hot(addr),
        }
    }

    /// Base of the image whose code holds cache address `addr` (hot or cold).
    ///
    /// # Panics
    /// If `addr` is no cache address: records come from code that we emitted.
    #[must_use]
    pub fn base_at(&self, addr: u64) -> ImageBase {
        if let Some(id) = self.fresh_at(addr) {
            let image = self.fresh.directory.fragments[id as usize].image;
            return self.images.get(image).base;
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
        if let Some(id) = self.fresh_at(addr) {
            return self.fresh_maps(id, addr);
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
        if let Some(id) = self.fresh_at(addr) {
            let live = !self.fresh.directory.fragments[id as usize].dead;
            return self.fresh_maps(id, addr).filter(|_| live);
        }
        let (image, unit) = self.unit_at(addr)?;
        unit.running_maps(addr, self.images.get(image))
    }

    fn fresh_maps(&self, id: u32, addr: u64) -> Option<Maps> {
        let fresh = &self.fresh.directory.fragments[id as usize];
        fresh.maps(addr, self.images.get(fresh.image).counters)
    }

    /// What app instruction `address` (hot code) belongs to.
    #[must_use]
    pub fn spot(&self, address: u64) -> Option<Spot> {
        spot_in(&self.maps_at(address)?, address)
    }

    /// App address and context of a fragment in a refused group, from the address
    /// at which it was entered. The links that lead there are taken back.
    ///
    /// # Panics
    /// If `addr` is not the entry of a unit's fragment.
    #[must_use]
    pub fn entry_of_refused(&self, addr: u64) -> (AppPc, Context) {
        let (image, unit) = self.unit_at(addr).expect("the caller found a unit");
        unit.unlink_refused();
        unit.entry_at(addr, self.images.get(image).base)
    }
}
