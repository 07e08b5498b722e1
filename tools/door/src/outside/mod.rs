//! ppin's side: a `Tool` whose code lies in an object.
//!
//! ```text
//! plugged    the tool
//! pieces     its code and constants
//! about      its description, as the API has it
//! code       the code that it looks at
//! insertion  what it inserts
//! host       the services that it is offered
//! routine    its analysis routines
//! buffer     its buffers for records
//! state      its states, and their copies
//! services   memory
//! ```

mod about;
mod buffer;
mod code;
mod host;
mod insertion;
mod pieces;
mod plugged;
mod routine;
mod services;
mod state;

pub use about::opcodes;
#[cfg(test)]
pub use pieces::Pieces;
pub use plugged::Plugged;
