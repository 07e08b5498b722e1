//! Addresses of memory operands, as they cross the door in either direction.

use crate::table::{AddressRow, NO_REGISTER};
use ppin_api::{Address, ImageOff, Reg, Segment};

/// `address` as it crosses.
pub fn address_row(address: &Address) -> AddressRow {
    let number = |reg: Option<Reg>| reg.map_or(NO_REGISTER, |reg| reg as u8);
    match *address {
        Address::Image(offset) => AddressRow {
            in_image: true,
            displacement: offset.0 as u64,
            ..AddressRow::default()
        },
        Address::Sum {
            segment,
            base,
            index,
            scale,
            displacement,
            narrow,
        } => AddressRow {
            in_image: false,
            narrow,
            segment: match segment {
                None => 0,
                Some(Segment::Fs) => 1,
                Some(Segment::Gs) => 2,
            },
            base: number(base),
            index: number(index),
            scale,
            displacement,
        },
    }
}

/// What has crossed.
pub fn address(row: &AddressRow) -> Address {
    let register = |number: u8| Reg::ALL.get(usize::from(number)).copied();
    if row.in_image {
        return Address::Image(ImageOff(row.displacement as i32));
    }
    Address::Sum {
        segment: match row.segment {
            1 => Some(Segment::Fs),
            2 => Some(Segment::Gs),
            _ => None,
        },
        base: register(row.base),
        index: register(row.index),
        scale: row.scale,
        displacement: row.displacement,
        narrow: row.narrow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_out_as_they_went_in() {
        let sum = |segment, base, index, narrow| Address::Sum {
            segment,
            base,
            index,
            scale: 3,
            displacement: -8_i64 as u64,
            narrow,
        };
        let all = [
            Address::Image(ImageOff(-5)),
            Address::Image(ImageOff(i32::MAX)),
            sum(None, Some(Reg::Rax), Some(Reg::R15), false),
            sum(Some(Segment::Fs), None, Some(Reg::Rsp), true),
            sum(Some(Segment::Gs), Some(Reg::R8), None, false),
        ];
        for one in all {
            assert_eq!(address(&address_row(&one)), one);
        }
    }
}
