//! Images: what the program has mapped executable.

use alloc::string::String;
use alloc::vec::Vec;
use ppin_abi::addr::ImageBase;

/// An image (one file's code): dense, in order of loading, never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageId(pub u32);

/// An image, mapped or unmapped again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageInfo {
    /// Its number here.
    pub id: ImageId,
    /// Path of the file, or a name in brackets for code without one.
    pub path: String,
    /// Address of image offset 0: that of file offset 0, as the first executable segment
    /// is mapped.
    pub base: ImageBase,
}

/// The program's images.
pub trait Images {
    /// All images so far, by number.
    fn images(&self) -> Vec<ImageInfo>;
}
