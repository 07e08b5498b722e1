//! Options that verbs share, and those of the verbs that others start. From these definitions
//! come the parser, `--help`, the manual pages and the shell completions.

mod engine;
pub mod optimize;
mod print;
mod run;
mod settings;
mod shared;

pub use engine::{Check, EngineOption};
pub use print::{Gen, Tool};
pub use run::Run;
pub use settings::Settings;
pub use shared::{Cache, Format, Global};
