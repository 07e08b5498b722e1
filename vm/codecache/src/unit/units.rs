//! All mapped units, by image.

use super::Bound;
use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_images::{ImageId, Images};

/// See the module.
#[derive(Debug, Default)]
pub struct Units(Vec<Vec<Bound>>);

impl Units {
    /// Those of an image, in the order in which they are consulted.
    #[must_use]
    pub fn of(&self, id: ImageId) -> &[Bound] {
        self.0.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The same, to work on.
    pub(crate) fn of_mut(&mut self, id: ImageId) -> &mut [Bound] {
        self.0
            .get_mut(id.0 as usize)
            .map_or(&mut [], Vec::as_mut_slice)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Bound> {
        self.0.iter().flatten()
    }

    /// One more of the image.
    pub(crate) fn add(&mut self, id: ImageId, unit: Bound) {
        let n = id.0 as usize;
        if self.0.len() <= n {
            self.0.resize_with(n + 1, Vec::new);
        }
        // (Most images have one, which is large: there is no room for more until there are more.)
        let units = &mut self.0[n];
        if units.is_empty() {
            units.reserve_exact(1);
        }
        units.push(unit);
    }

    /// The unit that holds cache address `addr`, with its image.
    #[must_use]
    pub fn at(&self, addr: u64) -> Option<(ImageId, &Bound)> {
        let units = (0u32..).zip(&self.0);
        units
            .flat_map(|(n, units)| units.iter().map(move |u| (ImageId(n), u)))
            .find(|(_, u)| u.contains(addr))
    }

    /// Unmaps the units of an image that the app has unmapped; their ranges.
    pub(crate) fn release(&mut self, id: ImageId) -> Vec<(u64, u64)> {
        let units = self.0.get_mut(id.0 as usize).map(core::mem::take);
        units.into_iter().flatten().map(Bound::unmap).collect()
    }

    /// Takes fragments made from app bytes in `start .. end` out of use; their addresses in the
    /// app and in the cache.
    pub(crate) fn kill(&mut self, images: &Images, start: u64, end: u64) -> Vec<(AppPc, u64)> {
        let mut dead = Vec::new();
        for ((_, image), units) in images.iter().zip(&mut self.0) {
            // Generated code is forgotten thousands of times: only units of code that lies
            // there are asked what they have.
            if !image.gone && image.span.0 < end && start < image.span.1 {
                dead.extend(
                    units
                        .iter_mut()
                        .flat_map(|u| u.kill(start, end, image.base)),
                );
            }
        }
        dead
    }
}
