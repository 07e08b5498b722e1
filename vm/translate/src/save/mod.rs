//! Saving: writes the fresh fragments of each image to a new unit file.

mod allowance;
mod anticipate;
mod asked;
mod copies;
mod freeze;
mod named;
mod places;
mod tidy;

pub use anticipate::{at_end, has_nothing};
pub use freeze::{freeze_image, in_passing, in_run};

#[cfg(test)]
mod tests;
