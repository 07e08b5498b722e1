//! Stubs of exits ([`stub`]). They say nothing but where they stand, so the compiler makes none: who gives a fragment its
//! place does.

use ppin_abi::area::{Entry, Spill};
use ppin_abi::record::stub;

/// A stub, but for the field of its jump and what leads to the tail.
#[rustfmt::skip] // an instruction a line
const STUB: [u8; stub::LAST as usize] = {
    let [a, b, c, d] = Spill::Rcx.disp().to_le_bytes();
    let [i, j, k, l] = (-(stub::LAST as i32)).to_le_bytes();
    [
        0xff, 0x25, 0, 0, 0, 0,                     // stub:  jmp [rip + slot]
        0x65, 0x48, 0x89, 0x0c, 0x25, a, b, c, d,   // leave: mov gs:[Spill::Rcx], rcx
        0x48, 0x8d, 0x0d, i, j, k, l,               //        lea rcx, [rip + stub]
    ]
};

/// `jmp gs:[Entry::LeaveExit]`
const TAIL: [u8; stub::TAIL as usize] = {
    let [a, b, c, d] = Entry::LeaveExit.disp().to_le_bytes();
    [0x65, 0xff, 0x24, 0x25, a, b, c, d]
};

/// Opcode of a short jump.
const JUMP_SHORT: u8 = 0xeb;

/// Writes `count` stubs to the beginning of `to`, which will lie at cache address `at`. Their slots lie at `slots`.
/// `None`: they do not fit, or a slot is out of reach; `to` is then partly written and must not be used.
#[must_use]
pub fn write_stubs(count: usize, at: u64, slots: u64, to: &mut [u8]) -> Option<()> {
    for number in 0..count {
        let offset = stub::at(number);
        let behind = at.wrapping_add(u64::from(offset + stub::LEAVE));
        let slot = slots.wrapping_add(8 * number as u64);
        let distance = i32::try_from(slot.wrapping_sub(behind) as i64).ok()?;
        let code = to.get_mut(offset as usize..)?;
        let (body, rest) = code.split_at_mut_checked(STUB.len())?;
        body.copy_from_slice(&STUB);
        body[stub::FIELD as usize..stub::LEAVE as usize].copy_from_slice(&distance.to_le_bytes());
        match stub::to_tail(number, count) {
            Some(to_tail) => *rest.first_chunk_mut()? = [JUMP_SHORT, to_tail],
            None => *rest.first_chunk_mut()? = TAIL,
        }
    }
    Some(())
}
