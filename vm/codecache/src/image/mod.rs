//! What the app has mapped executable, and which file each piece comes from.
//!
//! A *region* is a stretch of executable app memory with one protection. An *image*
//! is one load of one file with all its segments ([`naming`] tells loads apart).
//! Regions are learned from the app's own `mmap` calls, and from the kernel's list
//! when the app jumps to an address that we have not met.

mod home;
pub(crate) mod identity;
#[expect(
    clippy::module_inception,
    reason = "the folder holds what belongs to images"
)]
mod image;
mod images;
pub(crate) mod naming;
mod regions;
mod unlisted;

pub(crate) use home::Home;
pub(crate) use image::Asked;
pub use image::{Image, ImageId, Naming};
pub use images::{Images, Named};
pub use regions::Region;
