//! Which traces to translate next, beside those that a run has executed.
//!
//! Some branches go one way in this run and the other in the next, because addresses
//! differ (page-crossing tests of string functions, hashes of pointers). So what lies beside
//! executed traces is translated, too. [`Situation`] says how far a run goes for that,
//! [`mod@siblings`] where earlier traces may lead and nothing is translated yet, and [`Search`]
//! asks for one wave of places after the other.

mod search;
mod siblings;
mod situation;
pub mod string_code;

pub use search::Search;
pub use siblings::{NEAR, siblings};
pub use situation::{Approach, Situation};
