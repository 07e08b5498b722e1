//! Memory: mappings and where they go, what is kept for hard times, the heap, and how memory
//! of the app is read that may not be there.

pub mod budget;
pub(crate) mod copy;
pub mod heap;
pub mod limits;
pub mod mem;
pub mod page;
pub mod peek;
pub mod place;
pub mod plain;
pub mod regions;
pub(crate) mod reserve;
pub(crate) mod spare;
pub mod stock;
pub(crate) mod stretches;
pub mod userfault;
