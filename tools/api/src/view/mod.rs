//! Views of the code that is being translated.

mod bbl;
mod call;
mod fitting;
mod ins;
mod sight;
mod trace;

pub use bbl::Bbl;
pub use call::If;
pub use ins::Ins;
pub use sight::Limits;
pub use trace::{Code, Trace};

#[cfg(test)]
mod tests;
