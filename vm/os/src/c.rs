//! Constants and structures of the kernel, by their names there.

pub use linux_raw_sys::general::*;
