//! What emitted code looks like where a jump through a cell goes on as predicted: so the VM finds the slots of
//! one that went elsewhere.
//!
//! ```text
//!        jmp [rip + slot + 8]             JUMP
//!        not rax                          the rest of CODE
//!        lea rcx, [rcx + rax + 1]
//!        lea rax, [rip + 0]
//!                                         Area::left_at
//! ```

/// The jump, but for its displacement.
const JUMP: [u8; 2] = [0xff, 0x25];

/// Bytes from the end of the jump to [`crate::area::Area::left_at`].
const BEHIND: u64 = 3 + 5 + 7;

/// Bytes before [`crate::area::Area::left_at`] that tell where the slots are.
pub const CODE: u64 = JUMP.len() as u64 + 4 + BEHIND;

/// Address of the first of the two slots of the jump that is left at cache address `left_at`, before which stands
/// `code`; `None`: there is no such jump.
#[must_use]
pub fn slots(left_at: u64, code: &[u8; CODE as usize]) -> Option<u64> {
    let distance = code.strip_prefix(&JUMP)?.first_chunk()?;
    let behind = left_at.wrapping_sub(BEHIND);
    let second = behind.wrapping_add_signed(i32::from_le_bytes(*distance).into());
    Some(second.wrapping_sub(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_are_found_from_the_jump() {
        let mut code = [0x90; CODE as usize];
        assert_eq!(slots(0x1015, &code), None);
        code[..6].copy_from_slice(&[0xff, 0x25, 0xf8, 0x0f, 0, 0]);
        assert_eq!(slots(0x1015, &code), Some(0x1006 + 0xff8 - 8));
        code[2..6].copy_from_slice(&(-0x10_i32).to_le_bytes());
        assert_eq!(slots(0x1015, &code), Some(0x1006 - 0x18));
    }
}
