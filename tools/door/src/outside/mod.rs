//! ppin's side: a `Tool` whose code lies in an object.
//!
//! ```text
//! plugged    the tool
//! about      its description, as the API has it
//! code       the code that it looks at
//! insertion  what it inserts
//! host       the services that it is offered
//! services   memory
//! ```

mod about;
mod code;
mod host;
mod insertion;
mod plugged;
mod services;

pub use about::opcodes;
pub use plugged::Plugged;
