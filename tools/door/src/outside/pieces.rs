//! The code and constants of a tool's object, as they lie in memory.

use alloc::vec::Vec;
use ppin_api::compiler::CodeBytes;

/// What nobody writes to: where each piece lies, and its bytes. Nothing in them depends on the place:
/// what is relocated can be written to.
#[derive(Debug)]
pub struct Pieces(pub Vec<(u64, &'static [u8])>);

impl CodeBytes for Pieces {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.constant(address, buffer)
    }

    fn constant(&self, address: u64, buffer: &mut [u8]) -> usize {
        let rest = self.0.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(at..).filter(|rest| !rest.is_empty())
        });
        let rest = rest.unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_up_to_the_end_of_their_piece() {
        let pieces = Pieces([(0x5000, &b"head"[..]), (0x6000, b"code")].to_vec());
        let read = |address| {
            let mut buffer = [0; 3];
            let len = pieces.read(address, &mut buffer);
            buffer[..len].to_vec()
        };
        assert_eq!(read(0x6000), b"cod");
        assert_eq!(read(0x6001), b"ode");
        assert_eq!(read(0x5003), b"d");
        for outside in [0x4fff, 0x5004, 0x6004, u64::MAX] {
            assert_eq!(read(outside), b"", "{outside:#x}");
        }
    }
}
