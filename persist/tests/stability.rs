//! The format does not change by accident.

mod common;

use common::{KEY, frozen, sample};
use ppin_abi::area::LAYOUT_VERSION;
use ppin_persist::{FORMAT_VERSION, UnitFile, tool_key};
use proptest::prelude::*;

/// If this fails, files of the version before do not mean the same any more: count
/// `FORMAT_VERSION` up, add a line to the history in `FORMAT.md`, and write the new
/// numbers here.
#[test]
fn the_same_fragments_give_the_bytes_they_always_gave() {
    let mut bytes = frozen(&sample(50));
    assert_eq!(bytes[8..12], FORMAT_VERSION.to_le_bytes());
    assert_eq!(bytes[12..16], LAYOUT_VERSION.to_le_bytes());
    // The layout version counts other things; the head's checksum follows it.
    bytes[12..16].fill(0);
    bytes[24..32].fill(0);
    let sum = ppin_persist::source_hash(&bytes);
    assert_eq!((FORMAT_VERSION, bytes.len(), sum), GOLDEN);
}

const GOLDEN: (u32, usize, u64) = (19, 25128, 0xf1fe_40eb_2e02_52fa);

#[test]
fn keys_are_what_they_always_were() {
    let tool = tool_key(&[([5; 32], "a=1\nb=2".into())], b"");
    assert_eq!(ppin_persist::paths::to_hex(&tool[..8]), TOOL);
}

const TOOL: &str = "c640d926c2b1b59b";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// One bit anywhere: found when all is verified, harmless before.
    #[test]
    fn any_flipped_bit_is_found(place in 0.0..1.0f64, bit in 0..8u32) {
        let mut bytes = frozen(&sample(20));
        let at = (bytes.len() as f64 * place) as usize;
        bytes[at] ^= 1 << bit;
        let verdict = UnitFile::open(&bytes, Some(&KEY)).and_then(|file| file.verify_all());
        prop_assert!(verdict.is_err(), "byte {}", at);
    }
}
