//! What becomes of the fragments of several units that are merged into one.

mod common;

use common::{KEY, frozen, pieces, sample, spec, unit};
use core::cmp::Reverse;
use ppin_abi::addr::ImageOff;
use ppin_abi::context::Context;
use ppin_persist::start::History;
use ppin_persist::{Thawed, UnitFile, freeze, merge, merge_as};
use proptest::prelude::*;

proptest! {
    #[test]
    fn merging_keeps_what_was_true_last(a in unit(20), b in unit(20)) {
        let bytes = [frozen(&a), frozen(&b)];
        let files = bytes.each_ref().map(|bytes| UnitFile::open(bytes, None).unwrap());
        let merged = merge(&files).unwrap();
        let file = UnitFile::open(&merged.bytes, Some(&KEY)).unwrap();
        prop_assert_eq!(file.verify_all(), Ok(()));
        let all = file.thaw_all().unwrap();
        for (at, kept) in all.iter().enumerate() {
            let same = |piece: &&Thawed| entry_of(piece) == entry_of(kept);
            let (old, new) = (a.iter().find(same), b.iter().find(same));
            let source = new.or(old).map(|piece| piece.source_hash);
            prop_assert_eq!(source, Some(kept.source_hash));
            prop_assert!(at >= a.len() || entry_of(kept) == entry_of(&a[at]), "in order");
        }
        let left_out = (merged.duplicates + merged.conflicts) as usize;
        prop_assert_eq!(all.len() + left_out, a.len() + b.len());
        let again = merge(&[file]).unwrap();
        prop_assert_eq!(again.bytes, merged.bytes);
    }

    #[test]
    fn what_is_used_more_comes_first(
        a in unit(20),
        b in unit(20),
        weights in prop::collection::vec(0..4u32, 40),
    ) {
        let bytes = [frozen(&a), frozen(&b)];
        let files = bytes.each_ref().map(|bytes| UnitFile::open(bytes, None).unwrap());
        let of = |nth: usize, number: u32| weights[20 * nth + number as usize];
        let merged = merge_as(&files, false, of).unwrap();
        let all = UnitFile::open(&merged.bytes, None).unwrap().thaw_all().unwrap();
        let found: Vec<_> = all.iter().map(entry_of).collect();
        let mut wanted: Vec<(u32, (ImageOff, Context))> = Vec::new();
        for (nth, unit) in [&a, &b].into_iter().enumerate() {
            for (thawed, number) in unit.iter().zip(0..) {
                let (entry, weight) = (entry_of(thawed), of(nth, number));
                prop_assert_eq!(found[merged.places[nth][number as usize] as usize], entry);
                match wanted.iter_mut().find(|(_, there)| *there == entry) {
                    Some((there, _)) => *there = weight.max(*there),
                    None => wanted.push((weight, entry)),
                }
            }
        }
        wanted.sort_by_key(|(weight, _)| Reverse(*weight));
        prop_assert_eq!(found, wanted.iter().map(|(_, entry)| *entry).collect::<Vec<_>>());
        let asked = |times: u32| (0..times).fold(History::unasked(3), |h, _| h.after(true));
        let histories = merged.histories(|nth, number| asked(of(nth, number)));
        let wanted: Vec<_> = wanted.iter().map(|(weight, _)| asked(*weight)).collect();
        prop_assert_eq!(histories, wanted);
    }
}

fn entry_of(thawed: &Thawed) -> (ImageOff, Context) {
    (thawed.fragment.head, thawed.fragment.context)
}

#[test]
fn the_last_unit_says_whether_all_is_explored() {
    let fragments = sample(4);
    let [first, second] = [pieces(&fragments[..2]), pieces(&fragments[2..])];
    for (a, b) in [(false, false), (false, true), (true, false)] {
        let mut specs = [spec(&first), spec(&second)];
        (specs[0].explored, specs[1].explored) = (a, b);
        let bytes = specs.map(|spec| freeze(&spec).unwrap());
        let files = bytes
            .each_ref()
            .map(|bytes| UnitFile::open(bytes, Some(&KEY)).unwrap());
        let explored = |bytes: &[u8]| {
            let file = UnitFile::open(bytes, Some(&KEY)).unwrap();
            file.unit().geometry().explored
        };
        assert_eq!(explored(&bytes[1]), b);
        assert_eq!(explored(&merge(&files).unwrap().bytes), b);
        assert!(explored(&merge_as(&files, true, |_, _| 0).unwrap().bytes));
    }
}
