//! Variables that cargo sets for a build script.

use std::env;

/// The value of one that is always set.
pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
