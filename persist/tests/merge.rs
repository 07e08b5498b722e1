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
    fn what_more_runs_have_asked_for_comes_first(
        a in unit(20),
        b in unit(20),
        runs in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..4), 40),
    ) {
        let bytes = [frozen(&a), frozen(&b)];
        let files = bytes.each_ref().map(|bytes| UnitFile::open(bytes, None).unwrap());
        let of = |nth: usize, number: u32| {
            let asked = runs[20 * nth + number as usize].iter();
            asked.fold(History::UNKNOWN, |history, asked| history.after(*asked))
        };
        let merged = merge_as(&files, false, of).unwrap();
        let all = UnitFile::open(&merged.bytes, None).unwrap().thaw_all().unwrap();
        let mut wanted: Vec<(History, (ImageOff, Context))> = Vec::new();
        for (nth, unit) in [&a, &b].into_iter().enumerate() {
            for (thawed, number) in unit.iter().zip(0..) {
                let (entry, history) = (entry_of(thawed), of(nth, number));
                match wanted.iter_mut().find(|(_, there)| *there == entry) {
                    Some((there, _)) => *there = there.or(history),
                    None => wanted.push((history, entry)),
                }
            }
        }
        wanted.sort_by_key(|(history, _)| Reverse(history.share()));
        let (histories, entries): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
        prop_assert_eq!(all.iter().map(entry_of).collect::<Vec<_>>(), entries);
        prop_assert_eq!(merged.histories, histories);
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
        assert!(explored(
            &merge_as(&files, true, |_, _| History::UNKNOWN)
                .unwrap()
                .bytes
        ));
    }
}
