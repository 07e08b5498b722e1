//! What the app has mapped executable, and which file each piece comes from.
//!
//! A *region* is a stretch of executable app memory with one protection. An *image*
//! is one load of one file with all its segments ([`naming`] tells loads apart).
//! Regions are learned from the app's own `mmap` calls, and from the kernel's list
//! when the app jumps to an address that we have not met.
//!
//! ```text
//! naming    which load of which file an address belongs to; identity, what its contents are
//! regions   stretches of memory; home, an image among the others
//! unlisted  for the time when the kernel's list cannot be read
//! cells     what images' code counts with
//! ```

#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod cells;
mod home;
pub mod identity;
mod image;
mod images;
pub mod naming;
mod regions;
mod unlisted;

pub use cells::Supply;
pub use home::Home;
pub use image::{Asked, Image, ImageId, NOWHERE, Naming};
pub use images::{Images, Named};
pub use regions::Region;
