//! Code for tests.

pub(crate) mod testing {
    use ppin_api::compiler::CodeBytes;

    /// Code that lies at an address.
    pub(crate) struct Code(pub u64, pub Vec<u8>);

    impl CodeBytes for Code {
        fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
            let rest = address
                .checked_sub(self.0)
                .and_then(|offset| self.1.get(offset as usize..))
                .unwrap_or_default();
            let len = rest.len().min(buffer.len());
            buffer[..len].copy_from_slice(&rest[..len]);
            len
        }

        fn constant(&self, address: u64, buffer: &mut [u8]) -> usize {
            self.read(address, buffer)
        }

        fn link(&self, place: u64) -> Option<u64> {
            let mut word = [0; 8];
            let whole = self.read(place, &mut word) == 8;
            whole.then(|| u64::from_le_bytes(word))
        }
    }
}
