//! The database: which one, whether it may be trusted, what is meant in it.

mod access;
mod choice;
mod names;
mod select;

pub use access::{create, path_of, reader, writer};
pub use choice::{Choice, choose};
pub use names::{label, name};
pub use select::selection;
