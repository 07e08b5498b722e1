//! Registers of the System V ABI, as masks by hardware number.

/// Registers of arguments, in their order.
pub const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

/// rax, rcx, rdx, rsi, rdi and r8 to r11: a function may change them.
pub const CALLER_SAVED: u16 = 0b0000_1111_1100_0111;
