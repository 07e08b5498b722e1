//! The code and constants of a tool's object, as they lie in memory.

use alloc::vec::Vec;
use ppin_api::compiler::CodeBytes;

/// What nobody writes to.
#[derive(Default, Debug)]
pub struct Pieces {
    /// Where each piece lies, and its bytes. Nothing in them depends on the place: what is relocated can
    /// be written to.
    pub bytes: Vec<(u64, &'static [u8])>,
    /// Words that are relocated, and then left as they are: where each lies, and the code that it names.
    pub links: Vec<(u64, u64)>,
}

impl CodeBytes for Pieces {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.constant(address, buffer)
    }

    fn constant(&self, address: u64, buffer: &mut [u8]) -> usize {
        let rest = self.bytes.iter().find_map(|(start, bytes)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(at..).filter(|rest| !rest.is_empty())
        });
        let rest = rest.unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        len
    }

    fn link(&self, place: u64) -> Option<u64> {
        let mut links = self.links.iter();
        links.find(|link| link.0 == place).map(|link| link.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_up_to_the_end_of_their_piece() {
        let pieces = Pieces {
            bytes: [(0x5000, &b"head"[..]), (0x6000, b"code")].to_vec(),
            links: [(0x7008, 0x6000)].to_vec(),
        };
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
        assert_eq!(
            [0x7000, 0x7008].map(|at| pieces.link(at)),
            [None, Some(0x6000)]
        );
    }
}
