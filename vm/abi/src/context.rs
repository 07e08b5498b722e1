//! Static context: what a fragment assumes on entry beyond canonical registers.

/// A set of assumptions; part of a fragment's identity with its image offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
#[repr(transparent)]
pub struct Context(pub u32);

impl Context {
    /// Every app register in its own place, all flags live, a new basic block.
    pub const CANONICAL: Self = Self(0);
    /// The first instructions continue a basic block that was entered before (the
    /// trace reached its limit, or a signal came between): it counts no new block.
    pub const CONTINUATION: Self = Self(1);
    /// The code may be rewritten by the app itself: one fragment executes at most
    /// one instruction that writes memory, and is never persisted.
    pub const VOLATILE: Self = Self(2);
    /// Every store of 8 bytes is looked at: it may announce a restartable sequence.
    /// Never persisted.
    pub const WATCHED: Self = Self(4);

    /// With [`Self::VOLATILE`]: the code compares its source with memory by itself, on entry
    /// and behind each instruction that writes memory, so that it may be linked to and go on
    /// behind such instructions.
    pub const COMPARED: Self = Self(8);

    /// With [`Self::COMPARED`]: the app cannot write to the code at the addresses that it is
    /// executed at. Behind a store through another mapping the architecture asks for a
    /// branch or for a serializing instruction, so that only the latter are compared behind.
    pub const ALIASED: Self = Self(16);

    /// With [`Self::COMPARED`]: that may not be needed for ever, so the code leaves for the VM
    /// once in a while ([`crate::area::PACE`]).
    pub const PROVISIONAL: Self = Self(32);

    /// A call of the app has led here, as a `call` of the CPU: the CPU's return address lies right
    /// below the app's ([`crate::area::Area::returns`]). It is taken away before the first instruction,
    /// of which nothing else is assumed.
    pub const CALLED: Self = Self(64);

    /// All that is assumed of code that may change unseen.
    pub const CAREFUL: Self = Self(2 | 8 | 16 | 32);

    /// Whether the code stays true to its source without looking at it: all mechanisms may be used for
    /// it, and it may be kept.
    #[must_use]
    pub const fn is_ordinary(self) -> bool {
        self.without(Self::CONTINUATION.with(Self::CALLED)).0 == Self::CANONICAL.0
    }

    /// Whether all assumptions of `other` hold here too.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of assumptions.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These assumptions without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}
