//! Answers about app code without translating it: its text, where it stores, which
//! branch led somewhere.

pub mod disasm;
pub mod origin;
pub mod stores;
