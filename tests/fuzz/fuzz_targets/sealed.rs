//! A sound unit with some bytes replaced and all checksums right again: what is left
//! to stop it is the sense of what it says.
#![no_main]

use std::sync::LazyLock;

static SAMPLE: LazyLock<Vec<u8>> = LazyLock::new(ppin_fuzz::sample);

libfuzzer_sys::fuzz_target!(|changes: &[u8]| {
    let mut bytes = SAMPLE.clone();
    let len = bytes.len();
    for change in changes.as_chunks::<4>().0 {
        let at = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize;
        bytes[at % len] = change[3];
    }
    let _ = ppin_fuzz::seal(&mut bytes);
    ppin_fuzz::exercise(&bytes);
});
