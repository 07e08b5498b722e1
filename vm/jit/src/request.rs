//! What the compiler is asked.

use crate::instrument::Bodies;
use ppin_abi::addr::{AppPc, ImageBase, ImageRange};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_relocator::Shape;

pub use ppin_abi::MAX_TRACE_BYTES;

/// Why the bytes of a [`Request`] end where they do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BytesEnd {
    /// The image or segment ends there, or just the buffer. A trace stops at the last
    /// whole instruction; if there is none, it becomes `Trap::Unsupported`.
    Limit,
    /// The next byte cannot be read. A trace stops at the last whole instruction; if
    /// there is none, it becomes `Trap::Unreadable`.
    Unreadable,
}

/// A restartable sequence (rseq(2)): if the thread is interrupted in `start .. end`, the
/// kernel has it go on at `abort`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequence {
    /// Its first instruction.
    pub start: AppPc,
    /// Behind its last, which commits it.
    pub end: AppPc,
    /// What runs instead of the rest.
    pub abort: AppPc,
    /// The four bytes before that.
    pub signature: [u8; 4],
}

impl Sequence {
    /// Whether `pc` is protected.
    #[must_use]
    pub const fn holds(&self, pc: AppPc) -> bool {
        self.start.0 <= pc.0 && pc.0 < self.end.0
    }
}

/// A trace to be translated.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its head.
    pub pc: AppPc,
    /// Base of the image that holds it, less than 2 GiB away.
    pub image: ImageBase,
    /// What the fragment may assume on entry.
    pub context: Context,
    /// The app's bytes from `pc` on.
    pub bytes: &'a [u8],
    /// Why they end.
    pub end: BytesEnd,
    /// To translate a recorded trace again: its length in app bytes, where this
    /// one has to stop, too.
    pub max_source: Option<u32>,
    /// Which of its branches it shall follow. Those that it cannot follow, it does not
    /// ([`ppin_relocator::Fragment::shape`]).
    pub shape: Shape,
    /// Restartable sequences nearby, which a trace does not run into.
    pub sequences: &'a [Sequence],
    /// An indirect branch leads there: threads may arrive by their own tables
    /// ([`ppin_relocator::Fragment::entry`]).
    pub arrives: bool,
    /// What the loader makes read-only once it has filled it in. Jumps through cells there are made for that,
    /// and are right if it does not.
    pub sealed: ImageRange,
    /// Jumps by tables are made for ones that do not change, and are right if they do: the image is that of a file.
    pub steady: bool,
    /// Mechanisms that are on.
    pub optimize: Optimize,
    /// What routines of the tool have come to in earlier traces, if that is remembered. It spares time,
    /// and changes nothing.
    pub bodies: Option<&'a Bodies>,
}

/// Whether an image is so low that absolute 32-bit addresses reach it.
pub(crate) const fn is_low(image: ImageBase) -> bool {
    image.0 < 1 << 31
}
