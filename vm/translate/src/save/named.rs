//! Places that somebody has found in an image without running it (`ppin warm --static`).

use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_abi::places;
use ppin_offline::Target;
use ppin_os::c;
use ppin_os::file::File;

/// An image, and places in it where code begins.
pub(super) struct Named {
    image: String,
    places: Vec<ImageOff>,
}

impl Named {
    /// From the file at `path`; `None`: there is none, or it says nothing.
    pub(super) fn read(path: &str) -> Option<Self> {
        /// Bytes of the longest file: more places than any image has.
        const LONGEST: usize = 256 << 20;
        if path.is_empty() {
            return None;
        }
        let file = File::open(path, c::O_RDONLY, 0).ok()?;
        let bytes = file.read_all(LONGEST).ok()?;
        let (image, places) = places::read(&bytes)?;
        Some(Self {
            image: String::from_utf8_lossy(image).into_owned(),
            places: places.collect(),
        })
    }

    /// Whether the image at `path` is meant.
    pub(super) fn is(&self, path: &str) -> bool {
        self.image == path
    }

    /// The places, as they are when nothing is known of who comes there.
    pub(super) fn targets(&self) -> impl Iterator<Item = Target> {
        let target = |off: &ImageOff| Target {
            off: *off,
            context: Context::CANONICAL,
        };
        self.places.iter().map(target)
    }
}
