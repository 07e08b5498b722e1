//! What the verbs of `ppin db` do with start plans.

mod common;

use common::{Bench, key, unit};
use ppin_cachedb::{GcOptions, Selection, UnitPath};
use ppin_persist::UnitFile;
use ppin_persist::paths::START;
use ppin_persist::start::{self, Compared, FileState, History, UnitPlan};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const TIDY: GcOptions = GcOptions {
    cap: None,
    compact: true,
    remove_dead: false,
    remove_damaged: true,
};

/// Writes `bytes` as the start plan beside `unit`.
fn plan(bench: &Bench, unit: &UnitPath, bytes: &[u8]) -> PathBuf {
    let path = bench.root.join(unit.dir()).join(START);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path
}

/// What a plan says of a unit whose only group has this history.
fn part(unit: &UnitPath, bytes: &[u8], history: History) -> UnitPlan {
    UnitPlan {
        image: unit.image,
        name: (unit.name.seq, unit.name.tag),
        unit: UnitFile::open(bytes, None).unwrap().unit().checksum(),
        file: FileState::default(),
        sound: start::runs(0..1),
        stubs: true,
        seen: vec![u64::MAX],
        eager: start::runs(0..1),
        histories: vec![history],
        settled: 2,
        watches: 1,
        compared: Compared::default(),
        targets: vec![],
        links: vec![],
        predictions: vec![],
        beyond: 3,
        unlearnt: 4,
        idle: 5,
    }
}

#[test]
fn compaction_puts_first_what_runs_ask_for_and_plans_remember_it() {
    let bench = Bench::new();
    let heads: [&[i32]; 3] = [&[0, 16], &[32, 48], &[64]];
    let units = [0, 1, 2].map(|n| bench.add(&key(1), n as u32, heads[n]));
    let (rare, usual) = (History::unasked(2), History::unasked(1).after(true));
    let mut parts: Vec<UnitPlan> = [(0, rare), (1, usual)]
        .map(|(n, history)| part(&units[n], &unit(&key(1), heads[n]), history))
        .to_vec();
    let other = bench.add(&key(2), 0, &[0]);
    parts.push(part(&other, &unit(&key(2), &[0]), rare));
    let path = plan(&bench, &other, &start::encode(&parts));
    assert_eq!(bench.open().compact().unwrap().images, 1);
    let list = bench.open().list().unwrap();
    let merged = list
        .iter()
        .find(|image| image.units[0].path.image == [1; 32]);
    let bytes = bench
        .open()
        .read(&merged.unwrap().units[0].path)
        .unwrap()
        .unwrap();
    let file = UnitFile::open(&bytes, None).unwrap();
    let order = file.thaw_all().unwrap();
    let order: Vec<i32> = order.iter().map(|one| one.fragment.head.0).collect();
    assert_eq!(order, [32, 48, 0, 16, 64]);
    let after = start::decode(&fs::read(&path).unwrap()).unwrap();
    let [kept, new] = &after[..] else {
        panic!("one is as it was, and one is for the merged unit");
    };
    assert_eq!(kept, &parts[2]);
    assert_eq!(
        (new.unit, &new.histories[..]),
        (file.unit().checksum(), &[usual][..])
    );
    assert!(new.sound.is_empty() && new.eager.is_empty() && new.watches == 1);
    assert_eq!(bench.open().compact().unwrap().images, 0);
}

#[test]
fn plans_remember_of_a_unit_made_anew_what_runs_ask_for() {
    let bench = Bench::new();
    let usual = History::unasked(1).after(true);
    let old = bench.add(&key(1), 0, &[0, 16]);
    let other = bench.add(&key(2), 0, &[0]);
    let parts = [(&old, &[0, 16][..], 1), (&other, &[0], 2)];
    let parts = parts.map(|(path, heads, n)| part(path, &unit(&key(n), heads), usual));
    let path = plan(&bench, &other, &start::encode(&parts.to_vec()));
    // The same, and a trace behind them.
    let longer = unit(&key(1), &[0, 16, 32]);
    let made = bench.open().rewrite_since(i64::MIN, |unit| {
        (unit.unit().key().image == [1; 32]).then(|| longer.clone())
    });
    assert_eq!(made.unwrap(), 1);
    let after = start::decode(&fs::read(&path).unwrap()).unwrap();
    let checksum = UnitFile::open(&longer, None).unwrap().unit().checksum();
    let [kept, new] = &after[..] else {
        panic!("one is as it was, and one is for the new unit");
    };
    assert_eq!(kept, &parts[1]);
    assert_eq!((new.unit, &new.histories[..]), (checksum, &[usual][..]));
}

#[test]
fn damaged_plans_are_reported_and_removed() {
    let bench = Bench::new();
    let sound = start::encode(&Vec::new());
    let mut damaged = sound.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let mut older = sound.clone();
    older[8] += 1;
    let [kept, lost, other] = [(1, &sound), (2, &damaged), (3, &older)]
        .map(|(image, bytes)| plan(&bench, &bench.add(&key(image), 0, &[0]), bytes));
    let damage = bench.open().verify(|_, _| ()).unwrap().damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert!(lost.ends_with(&damage[0].path) && damage[0].why.contains("start plan"));
    bench.open().collect(&TIDY).unwrap();
    assert!(kept.exists() && !lost.exists() && other.exists());
    assert!(bench.open().verify(|_, _| ()).unwrap().damage.is_empty());
}

#[test]
fn plans_go_with_the_units_beside_them() {
    let bench = Bench::new();
    let unit = bench.add(&key(1), 0, &[0]);
    let path = plan(&bench, &unit, &start::encode(&Vec::new()));
    bench.open().remove(&Selection::All).unwrap();
    assert!(!path.exists());
    let path = plan(&bench, &unit, &start::encode(&Vec::new()));
    bench.open().collect(&TIDY).unwrap();
    assert!(!path.exists(), "no unit is beside it");
}
