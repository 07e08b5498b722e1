//! Where machine code is read from.

/// Memory that holds code, which nobody changes.
pub trait CodeBytes {
    /// Copies what lies at `address` to `buffer`; the number of bytes, fewer than wanted where the
    /// code ends.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;
}

#[cfg(test)]
pub(crate) mod testing {
    use super::CodeBytes;

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
    }
}
