//! Restartable sequences (rseq(2)).
//!
//! A thread registers a structure with the kernel, which keeps the number of its CPU
//! there. Before a sequence the thread stores the address of a *descriptor* to the
//! structure's `rseq_cs`; if it is interrupted while its pc lies in the described range,
//! the kernel has it go on at the abort handler. The structure stays the app's own. The
//! kernel sees cache addresses as pcs, so each translation of a sequence has a descriptor
//! of its own ([`copies`]), and where the app announces the sequence, the translated
//! store announces the translation (`ppin_jit`, `lower/rseq_store.rs`). Then the kernel
//! aborts when it would have done so natively, and whatever registers the app had.
//!
//! Which code is a sequence is found out from the app's descriptors ([`learn`]): they are
//! met as constants of the code that announces them, before it runs for the first time.
//! Programs that build descriptors as they run take the address of an abort handler,
//! which shows by its signature; or they register with a signature of their own. In these
//! all stores of 8 bytes are watched (`Context::WATCHED`).
//!
//! Nothing of this is persisted, and a program without sequences pays nothing.

mod copies;
mod landings;
mod learn;
mod leave;
mod registration;

pub use copies::{aborted, arrive, entry, forget_copies, is_inside, let_go};
pub use learn::{announced_unseen, discover, unmapped};
pub use leave::trap;
pub use registration::{call, forget, rejected, segment_moved};

use alloc::vec::Vec;
use copies::Copy;
use ppin_abi::addr::AppPc;
use ppin_jit::{MAX_TRACE_BYTES, Sequence};

/// What everyone on x86 registers with.
const SIGNATURE: [u8; 4] = 0x5305_3053_u32.to_le_bytes();

/// All that is known of the process's sequences.
#[derive(Debug, Default)]
pub struct Sequences {
    known: Vec<Sequence>,
    copies: Vec<Copy>,
    /// Signatures registered besides [`SIGNATURE`].
    signatures: Vec<[u8; 4]>,
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

    fn is_signature(&self, signature: [u8; 4]) -> bool {
        signature == SIGNATURE || self.signatures.contains(&signature)
    }
}
