//! What the CPU has answered to `cpuid`, as the database keeps it for the next programs.
//!
//! The file ([`crate::paths::CPUID`]) is of use only on the machine that wrote it, and only until
//! that boots again: it names the boot, and what leaf 1 says of the processor. `FORMAT.md` describes
//! it.

use crate::checksum::source_hash;
use alloc::vec::Vec;
use ppin_abi::cpuid::{Answer, WORDS};

/// Which processor has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot: [u8; BOOT_LEN],
    /// Leaf 1: the version, the features (ecx, edx).
    pub version: [u32; 3],
}

/// Bytes of a boot's name.
pub const BOOT_LEN: usize = 36;
/// First bytes of the file; the last counts incompatible changes.
const MAGIC: [u8; 8] = *b"ppcpuid1";
/// Most answers of a file.
pub const MOST: usize = 64;
const HEAD: usize = MAGIC.len() + BOOT_LEN + 3 * 4;
/// Longest file.
pub const MAX_FILE: usize = HEAD + MOST * WORDS * 4 + 8;

/// The file's bytes.
#[must_use]
pub fn encode(machine: &Machine, answers: &[Answer]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAX_FILE);
    bytes.extend(MAGIC);
    bytes.extend(machine.boot);
    bytes.extend(machine.version.iter().flat_map(|word| word.to_le_bytes()));
    for answer in answers.iter().take(MOST) {
        bytes.extend(answer.bytes());
    }
    bytes.extend(source_hash(&bytes).to_le_bytes());
    bytes
}

/// What a file says that is whole.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<(Machine, Vec<Answer>)> {
    let (bytes, sum) = bytes.split_last_chunk()?;
    let rest = bytes.strip_prefix(&MAGIC)?;
    if u64::from_le_bytes(*sum) != source_hash(bytes) {
        return None;
    }
    let (boot, rest) = rest.split_first_chunk()?;
    let (version, rest) = rest.split_at_checked(3 * 4)?;
    if !rest.len().is_multiple_of(WORDS * 4) || rest.len() > MOST * WORDS * 4 {
        return None;
    }
    let (words, _) = version.as_chunks();
    let machine = Machine {
        boot: *boot,
        version: [0, 1, 2].map(|n| u32::from_le_bytes(words[n])),
    };
    Some((machine, Answer::read_all(rest).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MACHINE: Machine = Machine {
        boot: *b"01234567-89ab-cdef-0123-456789abcdef",
        version: [1, 2, 3],
    };

    fn answers() -> impl Strategy<Value = Vec<Answer>> {
        let row = any::<([u32; 3], [u32; 4])>();
        let answer = row.prop_map(|([leaf, subleaf, mask], registers)| Answer {
            leaf,
            subleaf,
            mask,
            registers,
        });
        prop::collection::vec(answer, 0..=MOST)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(answers in answers()) {
            let bytes = encode(&MACHINE, &answers);
            prop_assert!(bytes.len() <= MAX_FILE);
            prop_assert_eq!(decode(&bytes), Some((MACHINE, answers)));
        }

        #[test]
        fn damage_is_found(answers in answers(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
            let mut bytes = encode(&MACHINE, &answers);
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            prop_assert_eq!(decode(&bytes), None);
            bytes.truncate(at);
            prop_assert_eq!(decode(&bytes), None);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decode(&bytes), None);
        }
    }
}
