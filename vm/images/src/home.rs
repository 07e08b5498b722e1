//! An image, and what may become of its code where it is mapped.

use crate::image::Image;
use crate::images::Images;
use core::ops::Deref;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Home<'a> {
    image: &'a Image,
    images: &'a Images,
}

impl<'a> Home<'a> {
    pub(super) fn new(image: &'a Image, images: &'a Images) -> Self {
        Self { image, images }
    }

    /// Takes `count` cells for bundled counts; where the first is, from `gs`.
    pub fn take_cells(&self, count: u16) -> Option<u64> {
        self.images.cells().take(count)
    }

    /// Whether persisted code made from `start .. end` must not run: it was put off limits, or
    /// its source may change unseen. (Guards are set when code is translated.)
    pub fn forbids(&self, start: u64, end: u64) -> bool {
        self.image.is_off_limits(start, end) || self.images.may_change(start, end)
    }
}

impl Deref for Home<'_> {
    type Target = Image;

    fn deref(&self) -> &Image {
        self.image
    }
}
