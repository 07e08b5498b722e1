//! Persisted code: units mapped for an image, and which of it may run.
//!
//! A unit is mapped without execute permission. A group becomes executable when it is first
//! needed, after its checksum and the app bytes it was made from have been compared ([`admit`]);
//! links inside the file cannot bypass that, because entering a group that is not admitted
//! faults.

mod admit;
mod ahead;
mod aside;
mod bound;
mod cells;
mod exits;
mod find;
mod follow;
mod foreseen;
mod history;
mod holes;
mod kept;
mod learnt;
mod library;
mod links;
mod locate;
mod map;
mod next;
mod part;
mod plan;
mod planned;
mod spare;
mod stubs;
mod units;
mod unlink;
mod unlinked;
mod watch;
mod whole;
mod written;

pub use bound::Bound;
pub use find::worth_opening;
pub use library::{Databases, Library};
pub use units::Units;
pub use written::Written;

#[cfg(test)]
mod model;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod shelf;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use shelf::Shelf;
