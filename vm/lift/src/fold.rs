//! Computing instructions whose operands are known.

use iced_x86::{Mnemonic, RflagsBits};

/// Flags that instructions compute.
pub(crate) const ARITHMETIC: u32 = RflagsBits::OF
    | RflagsBits::SF
    | RflagsBits::ZF
    | RflagsBits::AF
    | RflagsBits::CF
    | RflagsBits::PF;

/// A result, and the flags if they are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Folded {
    /// Of as many bytes as the operands have.
    pub value: u64,
    /// What the flags are ([`RflagsBits`]), if the instruction changes them.
    pub flags: Flags,
}

/// What an instruction makes of the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flags {
    /// It leaves them.
    Kept,
    /// These.
    Known(u32),
    /// Something.
    Unknown,
}

/// The bits of `size` bytes.
pub(crate) const fn mask(size: usize) -> u64 {
    match size {
        1 => 0xff,
        2 => 0xffff,
        4 => 0xffff_ffff,
        _ => u64::MAX,
    }
}

/// `value` of `size` bytes with its sign.
pub(crate) const fn signed(value: u64, size: usize) -> u64 {
    match size {
        1 => value as u8 as i8 as i64 as u64,
        2 => value as u16 as i16 as i64 as u64,
        4 => value as u32 as i32 as i64 as u64,
        _ => value,
    }
}

/// `one op other` of `size` bytes. `None`: not known here.
pub(crate) fn fold(mnemonic: Mnemonic, size: usize, one: u64, other: u64) -> Option<Folded> {
    use Mnemonic as M;
    let (one, other) = (one & mask(size), other & mask(size));
    let count = other & if size == 8 { 63 } else { 31 };
    let (value, flags) = match mnemonic {
        M::Add => {
            let sum = one.wrapping_add(other) & mask(size);
            let overflow = (one ^ sum) & (other ^ sum);
            (sum, with_carry(sum, size, sum < one, overflow))
        }
        M::Sub | M::Cmp => {
            let difference = one.wrapping_sub(other) & mask(size);
            let overflow = (one ^ other) & (one ^ difference);
            (
                difference,
                with_carry(difference, size, one < other, overflow),
            )
        }
        M::And | M::Test => (one & other, with_carry(one & other, size, false, 0)),
        M::Or => (one | other, with_carry(one | other, size, false, 0)),
        M::Xor => (one ^ other, with_carry(one ^ other, size, false, 0)),
        M::Imul => (
            signed(one, size).wrapping_mul(signed(other, size)),
            Flags::Unknown,
        ),
        M::Shl | M::Shr | M::Sar if count == 0 => (one, Flags::Kept),
        M::Shl => (one.checked_shl(count as u32)?, Flags::Unknown),
        M::Shr => (one.checked_shr(count as u32)?, Flags::Unknown),
        M::Sar => (
            (signed(one, size).cast_signed() >> count) as u64,
            Flags::Unknown,
        ),
        _ => return None,
    };
    let value = value & mask(size);
    Some(Folded { value, flags })
}

/// The same for instructions with one operand.
pub(crate) fn fold_one(mnemonic: Mnemonic, size: usize, one: u64) -> Option<Folded> {
    use Mnemonic as M;
    let one = one & mask(size);
    let (value, flags) = match mnemonic {
        M::Not => (!one, Flags::Kept),
        M::Neg => (one.wrapping_neg(), Flags::Unknown),
        // (They keep the carry.)
        M::Inc => (one.wrapping_add(1), Flags::Unknown),
        M::Dec => (one.wrapping_sub(1), Flags::Unknown),
        _ => return None,
    };
    let value = value & mask(size);
    Some(Folded { value, flags })
}

fn with_carry(result: u64, size: usize, carry: bool, overflow: u64) -> Flags {
    let sign = 1 << (8 * size - 1);
    let mut flags = 0;
    let mut set = |flag: u32, holds: bool| flags |= if holds { flag } else { 0 };
    set(RflagsBits::CF, carry);
    set(RflagsBits::ZF, result == 0);
    set(RflagsBits::SF, result & sign != 0);
    set(RflagsBits::OF, overflow & sign != 0);
    set(
        RflagsBits::PF,
        (result as u8).count_ones().is_multiple_of(2),
    );
    Flags::Known(flags)
}

/// Whether the condition with opcode number `condition` holds.
pub(crate) fn holds(condition: u8, flags: u32) -> bool {
    let is = |flag: u32| flags & flag != 0;
    let less = is(RflagsBits::SF) != is(RflagsBits::OF);
    let positive = match condition >> 1 {
        0 => is(RflagsBits::OF),
        1 => is(RflagsBits::CF),
        2 => is(RflagsBits::ZF),
        3 => is(RflagsBits::CF) || is(RflagsBits::ZF),
        4 => is(RflagsBits::SF),
        5 => is(RflagsBits::PF),
        6 => less,
        _ => less || is(RflagsBits::ZF),
    };
    positive != (condition & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compare(size: usize, one: u64, other: u64) -> u32 {
        match fold(Mnemonic::Cmp, size, one, other).unwrap().flags {
            Flags::Known(flags) => flags,
            _ => panic!("known"),
        }
    }

    proptest! {
        #[test]
        fn comparisons_order_numbers(one: u32, other: u32, same: bool) {
            let other = if same { one } else { other };
            let flags = compare(4, u64::from(one) | 1 << 40, u64::from(other));
            let conditions = [
                (0x2, one < other), (0x3, one >= other), (0x4, one == other), (0x5, one != other),
                (0x6, one <= other), (0x7, one > other),
                (0xc, (one as i32) < other as i32), (0xd, one as i32 >= other as i32),
                (0xe, one as i32 <= other as i32), (0xf, one as i32 > other as i32),
            ];
            for (condition, expected) in conditions {
                prop_assert_eq!(holds(condition, flags), expected, "{}", condition);
            }
        }

        #[test]
        fn results_are_those_of_the_numbers(one: u64, other: u64, count in 0_u64..64) {
            let value = |mnemonic, size, other| fold(mnemonic, size, one, other).unwrap().value;
            prop_assert_eq!(value(Mnemonic::Add, 8, other), one.wrapping_add(other));
            prop_assert_eq!(value(Mnemonic::Sub, 2, other), u64::from((one as u16).wrapping_sub(other as u16)));
            prop_assert_eq!(value(Mnemonic::Imul, 4, other), u64::from((one as u32).wrapping_mul(other as u32)));
            prop_assert_eq!(value(Mnemonic::Shl, 8, count), one << count);
            prop_assert_eq!(value(Mnemonic::Shr, 4, count), u64::from((one as u32) >> (count % 32)));
            prop_assert_eq!(value(Mnemonic::Sar, 8, count), ((one as i64) >> count) as u64);
            prop_assert_eq!(fold_one(Mnemonic::Dec, 1, one).unwrap().value, u64::from((one as u8).wrapping_sub(1)));
        }
    }
}
