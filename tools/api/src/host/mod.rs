//! What a tool is offered outside instrumentation, a service for each subject.

mod counters;
mod files;
mod images;
mod program;
mod states;
mod threads;

pub use counters::Counters;
pub use files::{FileError, FileId, Files};
pub use images::{ImageId, ImageInfo, Images};
pub use program::Program;
pub use states::States;
pub use threads::{ThreadId, ThreadInfo, Threads};

/// The process that a tool observes: all services together.
pub trait Host: Counters + Files + Images + Program + States + Threads + Sync {}

impl<T: Counters + Files + Images + Program + States + Threads + Sync> Host for T {}
