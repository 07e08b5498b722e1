//! Files, folders, descriptors, and the kernel's list of mappings.

pub mod descriptor;
pub mod dir;
pub mod file;
pub mod map_query;
pub mod mapped;
pub mod maps;
pub mod pagemap;
pub mod parts;
