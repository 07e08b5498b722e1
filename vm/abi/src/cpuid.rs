//! What the CPU answers to the instruction `cpuid`.

/// eax, ebx, ecx and edx.
pub type Registers = [u32; 4];

/// An answer that does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What eax asks for.
    pub leaf: u32,
    /// What ecx asks for, in the bits of `mask`.
    pub subleaf: u32,
    /// The bits of ecx that matter: all or none.
    pub mask: u32,
    /// The answer.
    pub registers: Registers,
}
