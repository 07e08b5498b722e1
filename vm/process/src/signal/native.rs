//! Progress of an app instruction that runs natively, at its own address.

/// Progress of an app instruction that runs natively, at its own address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Native {
    /// No instruction runs natively.
    #[default]
    Off = 0,
    /// The thread is on its way to the instruction.
    Approaching,
    /// The thread executes the instruction.
    There,
    /// The thread runs 32-bit or 16-bit code, to which the instruction has led.
    Compat,
}
