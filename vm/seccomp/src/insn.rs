//! One instruction as the kernel has it.

/// `struct sock_filter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Insn {
    /// Operation.
    pub code: u16,
    /// Instructions to skip if true.
    pub jt: u8,
    /// Instructions to skip if false.
    pub jf: u8,
    /// Constant.
    pub k: u32,
}

impl Insn {
    /// From the structure's bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        let [c0, c1, jt, jf, k0, k1, k2, k3] = bytes;
        Self {
            code: u16::from_le_bytes([c0, c1]),
            jt,
            jf,
            k: u32::from_le_bytes([k0, k1, k2, k3]),
        }
    }
}
