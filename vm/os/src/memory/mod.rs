//! Memory: mappings and their places, limits and reserves, the heap, and reads of app memory that
//! may fault.

mod ahead;
pub mod budget;
pub(crate) mod copy;
pub mod heap;
pub mod limits;
pub mod mem;
pub mod page;
pub mod peek;
pub mod place;
pub mod plain;
mod pools;
pub mod regions;
pub(crate) mod reserve;
pub(crate) mod spare;
pub mod stock;
pub(crate) mod stretches;
pub mod userfault;
