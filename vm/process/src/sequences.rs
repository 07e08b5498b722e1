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
    /// The app's sequences, the one learned last at the end.
    known: Vec<Sequence>,
    /// Translations of the sequences.
    copies: Vec<Copy>,
    /// Signatures registered besides [`SIGNATURE`].
    signatures: Vec<[u8; 4]>,
    /// Whether stores are checked for the address of a `struct rseq_cs` (the app has registered an
    /// rseq area).
    watching: bool,
}

/// The app's sequences.
impl Sequences {
    /// Number of known sequences.
    #[must_use]
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// Adds `sequence`; `false` if it is known already. If several sequences overlap, the last one
    /// counts: code may have been replaced.
    pub fn learn(&mut self, sequence: Sequence) -> bool {
        let overlaps = |s: &Sequence| s.start < sequence.end && sequence.start < s.end;
        if self.known.iter().rfind(|s| overlaps(s)) == Some(&sequence) {
            return false;
        }
        self.known.retain(|s| *s != sequence);
        self.known.push(sequence);
        true
    }

    /// Sequences that a trace at `pc` may reach.
    #[must_use]
    pub fn near(&self, pc: AppPc) -> Vec<Sequence> {
        let end = pc.0.saturating_add(MAX_TRACE_BYTES as u64);
        let near = |s: &&Sequence| s.start.0 < end && s.end > pc;
        self.known.iter().filter(near).copied().collect()
    }

    /// The sequence that `pc` lies in.
    #[must_use]
    pub fn holding(&self, pc: AppPc) -> Option<Sequence> {
        self.known.iter().rfind(|s| s.holds(pc)).copied()
    }

    /// A sequence that begins at most `distance` bytes after `pc`.
    #[must_use]
    pub fn ahead(&self, pc: AppPc, distance: u64) -> Option<Sequence> {
        let ahead = |s: &&Sequence| s.start > pc && s.start.0 - pc.0 <= distance;
        self.known.iter().rfind(ahead).copied()
    }

    /// Whether a known sequence has its abort handler at `pc`.
    #[must_use]
    pub fn aborts_at(&self, pc: AppPc) -> bool {
        self.known.iter().any(|s| s.abort == pc)
    }

    /// Forgets sequences in `start .. end`, which was unmapped. (Code that was merely written to
    /// may still be a sequence, and the code that announces it need not be translated again.)
    pub fn unmapped(&mut self, start: u64, end: u64) {
        self.known.retain(|s| s.end.0 <= start || s.start.0 >= end);
    }

    /// Whether `signature` stands before abort handlers.
    #[must_use]
    pub fn is_signature(&self, signature: [u8; 4]) -> bool {
        signature == SIGNATURE || self.signatures.contains(&signature)
    }

    /// Adds a signature that the app has registered.
    pub fn add_signature(&mut self, signature: [u8; 4]) {
        self.signatures.push(signature);
    }

    /// Whether all stores are watched for the address of a `struct rseq_cs`.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        self.watching
    }

    /// Stores are watched from here on.
    pub fn begin_watching(&mut self) {
        self.watching = true;
    }
}

/// Their translations.
impl Sequences {
    /// Whether there is any translation, in use or not.
    #[must_use]
    pub fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Translation number `n`.
    #[must_use]
    pub fn copy(&self, n: usize) -> &Copy {
        &self.copies[n]
    }

    /// Adds a translation; returns its number.
    pub fn add(&mut self, copy: Copy) -> usize {
        self.copies.push(copy);
        self.copies.len() - 1
    }

    /// Adds an entry point at `pc` inside translation `n`.
    pub fn add_landing(&mut self, n: usize, pc: AppPc, hot: u64) {
        self.copies[n].landings.push((pc, hot));
    }

    /// Number of the translation of `sequence` in use under `context` that has `pc` as its head or
    /// behind the start.
    #[must_use]
    pub fn live(&self, sequence: &Sequence, pc: AppPc, context: Context) -> Option<usize> {
        self.copies.iter().position(|c| {
            let head = c.head == pc || pc > sequence.start;
            c.live && c.sequence == *sequence && c.context == context && head
        })
    }

    /// Number of the translation in use that begins at cache address `hot`.
    #[must_use]
    pub fn at(&self, hot: u64) -> Option<usize> {
        self.copies.iter().position(|c| c.live && c.hot == hot)
    }

    /// Number of the translation in use that begins at cache address `hot`, or has a landing there.
    #[must_use]
    pub fn owner(&self, hot: u64) -> Option<usize> {
        let leads = |c: &Copy| c.hot == hot || c.landings.iter().any(|l| l.1 == hot);
        self.copies.iter().position(|c| c.live && leads(c))
    }

    /// The translation that has its descriptor at `address`.
    #[must_use]
    pub fn of_descriptor(&self, address: u64) -> Option<&Copy> {
        self.copies.iter().find(|c| c.descriptor == address)
    }

    /// The translation that is resumed at `stub` when it was aborted.
    #[must_use]
    pub fn of_stub(&self, stub: u64) -> Option<&Copy> {
        self.copies.iter().rfind(|c| c.stub == stub)
    }

    /// Whether the descriptor at `address` is that of a translation out of use.
    #[must_use]
    pub fn is_discarded(&self, address: u64) -> bool {
        let mut all = self.copies.iter();
        all.any(|c| !c.live && c.descriptor == address)
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

    /// Marks all translations as out of use, because all fresh code was flushed.
    pub fn forget_copies(&mut self) {
        for copy in &mut self.copies {
            copy.live = false;
        }
    }

    /// Cache addresses of the translations out of use.
    pub fn out_of_use(&self) -> impl Iterator<Item = u64> {
        self.copies.iter().filter(|c| !c.live).map(|c| c.hot)
    }

    /// Forgets the translations out of use at `freed`, whose memory has been freed.
    pub fn forget(&mut self, freed: &[u64]) {
        self.copies.retain(|c| c.live || !freed.contains(&c.hot));
    }
}

#[cfg(test)]
mod tests;
