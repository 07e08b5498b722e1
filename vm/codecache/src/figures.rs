//! What the code cache has done, in figures.

use alloc::string::String;
use alloc::vec::Vec;

/// Time stamp ticks by what they were spent on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Finding and mapping units.
    pub load: u64,
    /// Verifying and relocating groups.
    pub relocate: u64,
    /// Translating.
    pub compile: u64,
    /// Freezing and writing units.
    pub persist: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Traces translated.
    pub traces_compiled: u64,
    /// Traces translated at the end because the next run is likely to need them.
    pub traces_anticipated: u64,
    /// Persisted traces that were admitted: all of a group with the first that is executed.
    pub traces_reused: u64,
    /// Those of them that the VM was asked for; the others were reached by links.
    pub traces_looked_up: u64,
    /// Links to persisted traces, and entries of indirect branches, that no plan has named.
    pub learnt: u64,
    /// Groups that run though no plan has named them, and are nothing new all the same.
    pub settled: u32,
    /// The program's start plan counts this run.
    pub counted: bool,
    /// The run lets nothing of some images run at the start, to see what it asks for.
    pub watched: bool,
    /// Forks of this process.
    pub forks: u64,
    /// Persisted fragments whose bytes were compared with the app's.
    pub fragments_validated: u64,
    /// Fields written because a unit lies elsewhere, and slots rebased.
    pub relocations_applied: u64,
    /// Units mapped.
    pub units_mapped: u64,
    /// Those of them that lie elsewhere than they were made for.
    pub units_moved: u64,
    /// Bytes of code translated.
    pub code_bytes_new: u64,
    /// Bytes of persisted code admitted.
    pub code_bytes_reused: u64,
    /// Jumps through cells whose targets have been predicted.
    pub jumps_predicted: u64,
    /// Flushes of the full cache.
    pub flushes: u64,
    /// Times.
    pub spent: Spent,
    /// Why something persisted was not used, or nothing was saved.
    pub notes: Vec<String>,
}

impl Figures {
    /// Adds a reason, once.
    pub fn note(&mut self, reason: String) {
        const MOST: usize = 64;
        if self.notes.len() < MOST && !self.notes.contains(&reason) {
            self.notes.push(reason);
        }
    }
}
