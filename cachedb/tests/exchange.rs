//! Export and import.

mod common;

use common::{Bench, key};
use ppin_cachedb::{Error, Selection};
use std::collections::BTreeSet;
use std::fs;

fn exported(bench: &Bench) -> Vec<u8> {
    let mut bytes = Vec::new();
    bench.open().export(&Selection::All, &mut bytes).unwrap();
    bytes
}

fn filled() -> Bench {
    let bench = Bench::new();
    bench.add(&key(1), 0, &[0, 16]);
    bench.add(&key(1), 1, &[32]);
    bench.add(&key(2), 0, &[0]);
    bench
}

#[test]
fn what_is_exported_can_be_imported_once() {
    let pack = exported(&filled());
    let there = Bench::new();
    let imported = there.open().import(&mut &pack[..]).unwrap();
    assert_eq!((imported.units, imported.known), (3, 0));
    assert_eq!(there.heads(&key(1)), BTreeSet::from([0, 16, 32]));
    let again = there.open().import(&mut &pack[..]).unwrap();
    assert_eq!((again.units, again.known), (0, 3));
    assert_eq!(exported(&there), exported(&there));
    let list = there.open().list().unwrap();
    assert!(
        list.iter()
            .flat_map(|image| &image.units)
            .all(|unit| unit.facts.is_ok())
    );
}

#[test]
fn damaged_units_do_not_travel() {
    let bench = filled();
    let bad = bench.add(&key(3), 0, &[0]);
    let full = bench.root.join(bad.relative());
    let mut bytes = fs::read(&full).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&full, bytes).unwrap();
    let mut pack = Vec::new();
    let out = bench.open().export(&Selection::All, &mut pack).unwrap();
    assert_eq!((out.units, out.damaged), (3, 1));
}

#[test]
fn a_cut_exchange_file_is_noticed_and_its_start_is_kept() {
    let pack = exported(&filled());
    for len in (0..pack.len()).step_by(997) {
        let there = Bench::new();
        let outcome = there.open().import(&mut &pack[..len]);
        assert!(matches!(outcome, Err(Error::Pack(_))), "{len}: {outcome:?}");
        assert!(there.open().verify(|_, _| ()).unwrap().damage.is_empty());
    }
}

#[test]
fn flipped_bits_in_an_exchange_file_do_not_get_in() {
    let pack = exported(&filled());
    for at in (16..pack.len()).step_by(1009) {
        let mut damaged = pack.clone();
        damaged[at] ^= 1 << (at % 8);
        let there = Bench::new();
        match there.open().import(&mut &damaged[..]) {
            Ok(imported) => assert_eq!((imported.damaged.len(), imported.units), (1, 2), "{at}"),
            Err(Error::Pack(_)) => {}
            Err(other) => panic!("{at}: {other}"),
        }
        assert!(there.open().verify(|_, _| ()).unwrap().damage.is_empty());
    }
}

#[test]
fn claimed_lengths_are_not_believed() {
    let mut pack = exported(&filled());
    pack[16..24].copy_from_slice(&0x7fff_0000u64.to_le_bytes());
    let outcome = Bench::new().open().import(&mut &pack[..]);
    assert!(matches!(outcome, Err(Error::Pack("is cut"))), "{outcome:?}");
    pack[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    let outcome = Bench::new().open().import(&mut &pack[..]);
    assert!(matches!(outcome, Err(Error::Pack(_))), "{outcome:?}");
}
