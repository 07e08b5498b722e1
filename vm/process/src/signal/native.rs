//! An instruction that the CPU runs in its own place.

/// How far the instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Native {
    /// None is being run.
    #[default]
    Off = 0,
    /// On the way to it.
    Approaching,
    /// At it.
    There,
    /// Behind it, in code that is not of 64 bits.
    Compat,
}
