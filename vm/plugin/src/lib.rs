//! A tool as a file: a shared object that needs nothing from outside, with one table of data and
//! functions, its *door* (`ppin-door` defines it).
//!
//! ```text
//! object    the file, judged: headers, segments, dynamic section
//! laid_out  segments in memory, relocated to an address
//! card      name, summary and knobs, read from the door without running the tool
//! door      where the door keeps what is read here
//! chosen    the tools of a run, as texts carry them
//! refusal   why a file is refused, in a sentence
//! ```
//!
//! A tool is trusted code of its user, but a file may be torn, foreign or of another version.
//! So each number of the file is checked before it is used, and nothing of an object is executed
//! that this crate has not accepted as a whole. All of it is arithmetic on bytes: who maps memory
//! for the object calls [`Object::lay_out`] with that memory, be it the runtime, the command line
//! or a test.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod card;
pub mod chosen;
pub mod door;
mod dynamic;
mod laid_out;
mod object;
mod refusal;

pub use card::{Card, KnobCard};
pub use chosen::Chosen;
pub use laid_out::Protection;
pub use object::{MAX_FILE, Object, Rights, Segment};
pub use refusal::Refusal;
