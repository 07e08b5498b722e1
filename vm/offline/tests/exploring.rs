//! Exploring real machine code, as a run does, on bytes that are anything.

use ppin_abi::addr::{ImageBase, ImageOff};
use ppin_abi::context::Context;
use ppin_abi::optimize::Optimize;
use ppin_offline::explore::{Search, siblings};
use ppin_offline::{Image, Target, Translator};
use ppin_relocator::Fragment;
use proptest::prelude::*;
use std::collections::BTreeMap;

const BASE: ImageBase = ImageBase(0x5555_5555_4000);
/// File offset, and so image offset, of the code.
const AT: i32 = 120;

/// An ELF file whose one segment, executable, begins with `code`.
fn file(code: &[u8]) -> Vec<u8> {
    let words = |bytes: &mut Vec<u8>, all: &[u64]| {
        for word in all {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    };
    let mut bytes = b"\x7fELF\x02\x01".to_vec();
    bytes.resize(16, 0);
    words(
        &mut bytes,
        &[0x1_003e_0003, 0, 64, 0, 0x0038_0040_0000_0000, 1],
    );
    words(&mut bytes, &[0x5_0000_0001, AT as u64, AT as u64, 0]);
    words(&mut bytes, &[code.len() as u64, code.len() as u64, 0x1000]);
    assert_eq!(bytes.len(), AT as usize);
    bytes.extend_from_slice(code);
    bytes
}

fn target(off: i32) -> Target {
    Target {
        off: ImageOff(off),
        context: Context::CANONICAL,
    }
}

/// Does what `search` asks for; the fragments, and how many waves there were.
fn explore(translator: &Translator<'_>, mut search: Search) -> (Vec<Fragment>, usize) {
    let mut made = BTreeMap::new();
    let mut waves = 0;
    while let Some(wave) = search.wave() {
        for target in &wave {
            if let Some(code) = translator.fragment(*target) {
                made.insert(*target, code);
            }
        }
        search.reached(wave.iter().filter_map(|target| made.get(target)));
        waves += 1;
    }
    (made.into_values().collect(), waves)
}

fn inside(code: &Fragment, len: usize) -> bool {
    let (start, len) = (code.head.0, len as i32);
    AT <= start && start + code.source_len as i32 <= AT + len
}

proptest! {
    #[test]
    fn whatever_the_bytes_exploring_ends_inside_the_code(
        code in proptest::collection::vec(any::<u8>(), 1..600),
        heads in proptest::collection::vec(0_i32..600, 1..20),
    ) {
        let file = file(&code);
        let image = Image::new(&file, BASE);
        let tool = ppin_tools::by_name("bbcount").unwrap();
        let translator = Translator::new(&image, &*tool, Optimize::ALL);
        let fresh: Vec<Fragment> = heads
            .iter()
            .filter_map(|head| translator.fragment(target(AT + head)))
            .collect();
        let known = |other: &Target| fresh.iter().any(|code| Target::of(code) == *other);
        let exits = fresh
            .iter()
            .flat_map(|code| Target::successors(code).map(|next| (code.head, next)));
        let mut sorted: Vec<ImageOff> = fresh.iter().map(|code| code.head).collect();
        sorted.sort_unstable();
        let siblings = siblings(&sorted, exits, known);
        prop_assert!(!siblings.iter().any(known));
        let far = siblings.len().saturating_sub(100);
        let (made, waves) = explore(&translator, Search::beside(fresh.iter(), siblings));
        prop_assert!(waves <= 6 + 4 * far);
        prop_assert!(made.iter().all(|code| inside(code, image_len(&file))));
        let (made, waves) = explore(&translator, Search::behind_string_code(fresh.iter()));
        prop_assert!(waves <= 4);
        prop_assert!(made.iter().all(|code| inside(code, image_len(&file))));
    }
}

fn image_len(file: &[u8]) -> usize {
    file.len() - AT as usize
}

#[test]
fn the_other_side_of_a_branch_is_found() {
    // 0: je 5; ret. 3: nop; nop; 5: ret
    let file = file(&[0x74, 3, 0xc3, 0x90, 0x90, 0xc3]);
    let image = Image::new(&file, BASE);
    let tool = ppin_tools::by_name("null").unwrap();
    let translator = Translator::new(&image, &*tool, Optimize::ALL);
    let fresh = translator.fragment(target(AT)).unwrap();
    let (made, _) = explore(
        &translator,
        Search::beside([&fresh].into_iter(), Vec::new()),
    );
    let heads: Vec<i32> = made.iter().map(|code| code.head.0 - AT).collect();
    assert_eq!(heads, [5]);
}
