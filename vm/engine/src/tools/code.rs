//! Reading the machine code of tools.

use ppin_lift::CodeBytes;
use ppin_process::vm;

/// Code that is mapped here: the runtime's, which holds the tools.
pub(crate) struct Readable;

impl CodeBytes for Readable {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let (start, end) = vm::runtime();
        if !(start..end).contains(&address) {
            return 0;
        }
        let len = buffer.len().min((end - address) as usize);
        // SAFETY: the runtime's image is mapped as long as the process lives, and its code is not
        // written to.
        let bytes = unsafe { core::slice::from_raw_parts(address as *const u8, len) };
        buffer[..len].copy_from_slice(bytes);
        len
    }
}
