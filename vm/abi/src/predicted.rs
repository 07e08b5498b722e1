//! What emitted code looks like where a jump through a cell went elsewhere than was predicted: so the VM finds
//! the slots by which it goes.
//!
//! ```text
//!        jmp [rip + slot + 8]             JUMP: one that compares the cell (`ppin_lower::predicted`)
//!        not rax                          the rest of CODE
//!        lea rcx, [rcx + rax + 1]
//!        lea rax, [rip + 0]
//!                                         Area::left_at
//!
//!        lea rax, [rip + slot]            LOAD: one whose cell does not change (`ppin_lower::sealed`)
//!        lea rax, [rip + 0]
//!                                         Area::left_at
//!
//!        mov eax, count + bytes << 16     WHAT: one by a table that does not change (`ppin_lower::cases`)
//!        mov rax, [rip + slot]            TABLE
//!        lea rax, [rip + 0]
//!                                         Area::left_at
//! ```

/// The jump, but for its displacement.
const JUMP: [u8; 2] = [0xff, 0x25];
/// Bytes from the end of the jump to [`crate::area::Area::left_at`].
const BEHIND_JUMP: u64 = 3 + 5 + 7;

/// The load, but for its displacement.
const LOAD: [u8; 3] = [0x48, 0x8d, 0x05];
/// Bytes from the end of the load to [`crate::area::Area::left_at`].
const BEHIND_LOAD: u64 = 7;

/// The constant, but for itself.
const WHAT: u8 = 0xb8;
/// The load of the table's address, but for its displacement. It ends where the other load does.
const TABLE: [u8; 3] = [0x48, 0x8b, 0x05];

/// The constant of a jump by a table of `count` entries of so many `bytes`.
#[must_use]
pub const fn what_cases(count: u16, bytes: u8) -> i32 {
    count as i32 | (bytes as i32) << 16
}

/// Bytes before [`crate::area::Area::left_at`] that tell where the slots are.
pub const CODE: u64 = JUMP.len() as u64 + 4 + BEHIND_JUMP;

/// Where a jump's two slots are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slots {
    /// The first: what is compared with the cell; behind it, where the jump goes on.
    Compared(u64),
    /// The first: where the jump goes; behind it, the address of the cell.
    Sealed(u64),
    /// The first: the address of the table; behind it, where the jump goes by each of `count` entries, which have so
    /// many `bytes`.
    Cases {
        /// Its address.
        first: u64,
        /// Entries.
        count: u16,
        /// Bytes of each.
        bytes: u8,
    },
}

/// The slots of the jump that is left at cache address `left_at`, before which stands `code`; `None`: there is no
/// such jump.
#[must_use]
pub fn slots(left_at: u64, code: &[u8; CODE as usize]) -> Option<Slots> {
    let at = |opcode: &[u8], code: &[u8], behind| {
        let distance = code.strip_prefix(opcode)?.first_chunk()?;
        let end = left_at.wrapping_sub(behind);
        Some(end.wrapping_add_signed(i32::from_le_bytes(*distance).into()))
    };
    let load = code.len() - LOAD.len() - 4 - BEHIND_LOAD as usize;
    let cases = at(&TABLE, &code[load..], BEHIND_LOAD).zip(what(&code[..load]));
    if let Some((first, (count, bytes))) = cases {
        return Some(Slots::Cases {
            first,
            count,
            bytes,
        });
    }
    let sealed = at(&LOAD, &code[load..], BEHIND_LOAD).map(Slots::Sealed);
    let compared = || at(&JUMP, code, BEHIND_JUMP);
    sealed.or_else(|| compared().map(|second| Slots::Compared(second.wrapping_sub(8))))
}

/// What the constant says with which `code` ends, if it is one.
fn what(code: &[u8]) -> Option<(u16, u8)> {
    let [opcode, what @ ..] = code.last_chunk::<5>()?;
    let [low, high, bytes, rest] = *what;
    let sound = *opcode == WHAT && rest == 0 && matches!(bytes, 4 | 8);
    sound.then_some((u16::from_le_bytes([low, high]), bytes))
}

/// Bytes of a jump through a slot.
pub const JUMP_LEN: u64 = JUMP.len() as u64 + 4;

/// Whether `jump`, which ends at cache address `end`, goes through the slot at `slot`.
#[must_use]
pub fn goes_through(jump: &[u8; JUMP_LEN as usize], end: u64, slot: u64) -> bool {
    let distance = i32::try_from(slot.wrapping_sub(end).cast_signed());
    let field = jump
        .strip_prefix(&JUMP)
        .and_then(|field| field.first_chunk());
    field.is_some_and(|field| distance == Ok(i32::from_le_bytes(*field)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_are_found_from_the_jump() {
        let mut code = [0x90; CODE as usize];
        assert_eq!(slots(0x1015, &code), None);
        code[..6].copy_from_slice(&[0xff, 0x25, 0xf8, 0x0f, 0, 0]);
        assert_eq!(
            slots(0x1015, &code),
            Some(Slots::Compared(0x1006 + 0xff8 - 8))
        );
        code[2..6].copy_from_slice(&(-0x10_i32).to_le_bytes());
        assert_eq!(slots(0x1015, &code), Some(Slots::Compared(0x1006 - 0x18)));
    }

    #[test]
    fn those_of_a_sealed_cell_are_named_before() {
        let mut code = [0x90; CODE as usize];
        code[7..14].copy_from_slice(&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0]);
        assert_eq!(slots(0x1015, &code), Some(Slots::Sealed(0x100e + 0x10)));
    }

    #[test]
    fn a_jump_goes_through_one_slot() {
        let jump = [0xff, 0x25, 0x10, 0, 0, 0];
        assert!(goes_through(&jump, 0x1000, 0x1010));
        assert!(!goes_through(&jump, 0x1000, 0x1018));
        assert!(!goes_through(&jump, 0x1000, 1 << 40));
        assert!(!goes_through(&[0x90; 6], 0x1000, 0x1010));
    }
}
