//! Known restartable sequences of the process (rseq(2)), and their translations.

use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_jit::{MAX_TRACE_BYTES, Sequence};

/// The translation of one sequence. It stays in the list when it is no longer used, until its
/// memory is freed.
#[derive(Debug)]
pub struct Copy {
    /// The sequence.
    pub sequence: Sequence,
    /// App address at which it begins.
    pub head: AppPc,
    /// Context of the translation.
    pub context: Context,
    /// Cache address at which it begins.
    pub hot: u64,
    /// Cache address at which the kernel resumes aborted threads.
    pub stub: u64,
    /// Address of the `struct rseq_cs` for the translation.
    pub descriptor: u64,
    /// Address of a cell that holds the negated address of the app's descriptor.
    pub expected: u64,
    /// Entry points inside the translation: app and cache addresses.
    pub landings: Vec<(AppPc, u64)>,
    /// Whether the translation is in use.
    pub live: bool,
}

/// The usual signature on x86.
const SIGNATURE: [u8; 4] = 0x5305_3053_u32.to_le_bytes();

/// Restartable sequences of the process, and their translations.
#[derive(Debug, Default)]
pub struct Sequences {
    /// The app's sequences.
    pub known: Vec<Sequence>,
    /// Translations of the sequences.
    pub copies: Vec<Copy>,
    /// Signatures registered besides [`SIGNATURE`].
    pub signatures: Vec<[u8; 4]>,
    /// Whether stores are checked for the address of a `struct rseq_cs` (the app has registered an
    /// rseq area).
    pub watching: bool,
}

impl Sequences {
    /// Sequences that a trace at `pc` may reach.
    #[must_use]
    pub fn near(&self, pc: AppPc) -> Vec<Sequence> {
        let end = pc.0.saturating_add(MAX_TRACE_BYTES as u64);
        let near = |s: &&Sequence| s.start.0 < end && s.end > pc;
        self.known.iter().filter(near).copied().collect()
    }

    /// Marks the translation at `hot` as out of use, and returns the entry points into it.
    pub fn discarded(&mut self, hot: u64) -> Vec<u64> {
        let mut landings = Vec::new();
        for copy in &mut self.copies {
            copy.landings.retain(|landing| landing.1 != hot);
            if copy.hot == hot {
                copy.live = false;
                landings.extend(copy.landings.drain(..).map(|landing| landing.1));
            }
        }
        landings
    }

    /// Forgets sequences in `start .. end`, which was unmapped. (Code that was merely written to
    /// may still be a sequence, and the code that announces it need not be translated again.)
    pub fn unmapped(&mut self, start: u64, end: u64) {
        self.known.retain(|s| s.end.0 <= start || s.start.0 >= end);
    }

    /// Marks all translations as out of use, because all fresh code was flushed.
    pub fn forget_copies(&mut self) {
        for copy in &mut self.copies {
            copy.live = false;
        }
    }

    /// Whether `signature` stands before abort handlers.
    #[must_use]
    pub fn is_signature(&self, signature: [u8; 4]) -> bool {
        signature == SIGNATURE || self.signatures.contains(&signature)
    }
}
