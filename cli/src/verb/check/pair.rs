//! Both processes, and how far they have been compared.

use super::native::Native;
use super::ours::Ours;

/// Both processes.
pub struct Pair {
    pub native: Native,
    pub ours: Ours,
    pub figures: Figures,
    /// A tool is there, which may lose flags that die.
    pub instrumented: bool,
}

/// How much was compared.
#[derive(Clone, Copy, Default)]
pub struct Figures {
    pub instructions: u64,
    pub places: u64,
    pub handed_over: u64,
}
