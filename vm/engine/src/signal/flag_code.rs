//! Instructions that read or set the trap flag.

use ppin_os::peek;

/// `pushf`
pub(super) const PUSHF: u8 = 0x9c;
/// `popf`
pub(super) const POPF: u8 = 0x9d;

/// Whether the instruction at `pc` is `opcode`, with or without a prefix.
#[must_use]
pub(super) fn is(pc: u64, opcode: u8) -> bool {
    const OPERAND_SIZE: u8 = 0x66;
    let bytes = peek::read_value::<[u8; 2]>(pc).unwrap_or_default();
    bytes[0] == opcode || bytes == [OPERAND_SIZE, opcode]
}

/// Clears the VM's trap flag in the flags just pushed at `sp`.
pub(super) fn hide(sp: u64) {
    const SECOND: u64 = 1;
    if let Some(byte) = peek::read_value::<u8>(sp + SECOND) {
        // (The program has just written there.)
        let _ = peek::write_value(sp + SECOND, &(byte & !1));
    }
}
