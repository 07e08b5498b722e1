//! What is known of the process's restartable sequences (rseq(2)).

use alloc::vec::Vec;
use ppin_abi::addr::AppPc;
use ppin_abi::context::Context;
use ppin_jit::{MAX_TRACE_BYTES, Sequence};

/// One translation. It is remembered after it has gone out of use, until its memory is
/// given back.
#[derive(Debug)]
pub struct Copy {
    /// What is translated.
    pub sequence: Sequence,
    /// App address at which it begins.
    pub head: AppPc,
    /// Under what assumptions.
    pub context: Context,
    /// Cache address at which it begins.
    pub hot: u64,
    /// Where the kernel lets aborted threads go on.
    pub stub: u64,
    /// Its `struct rseq_cs`.
    pub descriptor: u64,
    /// Cell for what makes 0 with the address of the app's descriptor.
    pub expected: u64,
    /// Ways to instructions in it: app and cache addresses.
    pub landings: Vec<(AppPc, u64)>,
    /// In use.
    pub live: bool,
}

/// What everyone on x86 registers with.
const SIGNATURE: [u8; 4] = 0x5305_3053_u32.to_le_bytes();

/// All that is known of the process's sequences.
#[derive(Debug, Default)]
pub struct Sequences {
    /// Those of the app.
    pub known: Vec<Sequence>,
    /// Their translations.
    pub copies: Vec<Copy>,
    /// Signatures registered besides [`SIGNATURE`].
    pub signatures: Vec<[u8; 4]>,
    /// Every store may announce one.
    pub watching: bool,
}

impl Sequences {
    /// Those that a trace at `pc` may run into.
    #[must_use]
    pub fn near(&self, pc: AppPc) -> Vec<Sequence> {
        let end = pc.0.saturating_add(MAX_TRACE_BYTES as u64);
        let near = |s: &&Sequence| s.start.0 < end && s.end > pc;
        self.known.iter().filter(near).copied().collect()
    }

    /// The fragment at `hot` is out of use: the ways into it that go with it.
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

    /// Code in `start .. end` has gone. (What has merely changed may still be a sequence, and
    /// the code that announces it need not be translated again.)
    pub fn unmapped(&mut self, start: u64, end: u64) {
        self.known.retain(|s| s.end.0 <= start || s.start.0 >= end);
    }

    /// All fresh code is forgotten.
    pub fn forget_copies(&mut self) {
        for copy in &mut self.copies {
            copy.live = false;
        }
    }

    /// Whether abort handlers have it in front.
    #[must_use]
    pub fn is_signature(&self, signature: [u8; 4]) -> bool {
        signature == SIGNATURE || self.signatures.contains(&signature)
    }
}
