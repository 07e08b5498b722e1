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
//!        mov eax, what                    WHAT: one by a table that does not change (`ppin_lower::cases`)
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

/// A table by which a jump goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// Entries.
    pub count: u16,
    /// Bytes of each.
    pub bytes: u8,
    /// What has its address when the jump is made, if the code does not know it.
    pub held: Option<Held>,
}

/// A register that has the address of a table (`ppin_lower::cases_kept`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Number of the register.
    pub register: u8,
    /// Not only rcx is put back where the jump arrives, but rax, too.
    pub both: bool,
}

impl Held {
    const IS: u8 = 1 << 5;
    const BOTH: u8 = 1 << 4;

    const fn encode(self) -> u8 {
        Self::IS | if self.both { Self::BOTH } else { 0 } | self.register
    }

    const fn decode(byte: u8) -> Self {
        Self {
            register: byte & 0xf,
            both: byte & Self::BOTH != 0,
        }
    }
}

impl Table {
    /// The constant that says so.
    #[must_use]
    pub const fn encode(self) -> i32 {
        let [low, high] = self.count.to_le_bytes();
        let held = match self.held {
            Some(held) => held.encode(),
            None => 0,
        };
        i32::from_le_bytes([low, high, self.bytes, held])
    }

    fn decode([low, high, bytes, held]: [u8; 4]) -> Option<Self> {
        let held = match held {
            0 => None,
            byte if byte >> 5 == 1 => Some(Held::decode(byte)),
            _ => return None,
        };
        let count = u16::from_le_bytes([low, high]);
        let table = Self { count, bytes, held };
        matches!(bytes, 4 | 8).then_some(table)
    }
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
    /// The first: the address of the table; behind it, where the jump goes by each of its entries. If a register has
    /// the address: the first makes 0 with it, the second says where the others are, the third leads behind the jump.
    Cases {
        /// Its address.
        first: u64,
        /// The table.
        table: Table,
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
    if let Some((first, table)) = cases {
        return Some(Slots::Cases { first, table });
    }
    let sealed = at(&LOAD, &code[load..], BEHIND_LOAD).map(Slots::Sealed);
    let compared = || at(&JUMP, code, BEHIND_JUMP);
    sealed.or_else(|| compared().map(|second| Slots::Compared(second.wrapping_sub(8))))
}

/// What the constant says with which `code` ends, if it is one.
fn what(code: &[u8]) -> Option<Table> {
    let [opcode, what @ ..] = *code.last_chunk::<5>()?;
    Table::decode(what).filter(|_| opcode == WHAT)
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
    fn those_of_a_table_say_what_it_is() {
        let known = |held| Table {
            count: 256,
            bytes: 8,
            held,
        };
        let held = [(0, false), (15, true), (7, false)];
        let held = held.map(|(register, both)| Some(Held { register, both }));
        for table in held.into_iter().chain([None]).map(known) {
            let mut code = [0x90; CODE as usize];
            code[2] = WHAT;
            code[3..7].copy_from_slice(&table.encode().to_le_bytes());
            code[7..14].copy_from_slice(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0]);
            let first = 0x100e + 0x10;
            assert_eq!(slots(0x1015, &code), Some(Slots::Cases { first, table }));
            // Entries of another size; a register that there is not.
            for wrong in [5, 6] {
                let mut code = code;
                code[wrong] = 0x81;
                assert_eq!(slots(0x1015, &code), None);
            }
        }
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
