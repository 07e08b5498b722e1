//! What the verbs of `ppin db` do.

mod common;

use common::{Bench, IMAGE_PATH, key, path, unit};
use ppin_cachedb::{
    Access, Database, Error, GcOptions, Refusal, Selection, UnitPath, default_path,
};
use ppin_persist::cpuid::{self, BOOT_LEN, Machine};
use ppin_persist::paths::CPUID;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const TIDY: GcOptions = GcOptions {
    cap: None,
    compact: true,
    remove_dead: false,
    remove_damaged: true,
};

#[test]
fn listing_groups_units_by_image() {
    let bench = Bench::new();
    bench.add(&key(1), 0, &[0, 16, 32]);
    bench.add(&key(1), 1, &[48]);
    bench.add(&key(2), 0, &[0]);
    for _ in 0..2 {
        // The second time the facts come from the catalog.
        let list = bench.open().list().unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].units.len(), list[0].fragments()), (2, 4));
        assert_eq!(list[0].path.as_deref(), Some(Path::new(IMAGE_PATH)));
        assert_eq!(list[0].label, "bbcount");
        let facts = list[0].units[0].facts.as_ref().unwrap();
        assert_eq!(facts.key, key(1));
    }
    let totals = bench.open().stat().unwrap();
    assert_eq!(
        (totals.keys, totals.images, totals.units, totals.fragments),
        (1, 2, 3, 5)
    );
}

#[test]
fn damage_is_listed_verified_and_removed() {
    let bench = Bench::new();
    let good = bench.add(&key(1), 0, &[0]);
    let flipped = bench.add(&key(1), 1, &[16]);
    let cut = bench.add(&key(1), 2, &[32]);
    let astray = path(&key(9), 0, 0);
    bench.put(&astray, &unit(&key(1), &[0]));
    let full = |path: &ppin_cachedb::UnitPath| bench.root.join(path.relative());
    let mut bytes = fs::read(full(&flipped)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(full(&flipped), &bytes).unwrap();
    fs::write(full(&cut), &bytes[..bytes.len() - 9]).unwrap();

    let db = bench.open();
    assert_eq!(db.stat().unwrap().unreadable, 2);
    let mut steps = Vec::new();
    let verified = db.verify(|done, all| steps.push((done, all))).unwrap();
    assert_eq!((verified.units, verified.damage.len()), (4, 3));
    assert_eq!(steps.last(), Some(&(4, 4)));
    let collected = db.collect(&TIDY).unwrap();
    assert_eq!(collected.damaged.units, 3);
    assert!(full(&good).exists());
    assert!(db.verify(|_, _| ()).unwrap().damage.is_empty());
}

#[test]
fn units_of_other_versions_are_not_damage_but_go() {
    let bench = Bench::new();
    let old = bench.add(&key(1), 0, &[0]);
    let mut bytes = fs::read(bench.root.join(old.relative())).unwrap();
    bytes[8] = 77;
    bench.put(&old, &bytes);
    let db = bench.open();
    let verified = db.verify(|_, _| ()).unwrap();
    assert_eq!((verified.outdated, verified.damage), (vec![old], vec![]));
    assert_eq!(db.collect(&TIDY).unwrap().damaged.units, 1);
    assert_eq!(db.stat().unwrap().units, 0);
}

#[test]
fn removal_selects_by_image_path_and_key() {
    let bench = Bench::new();
    for image in [0x10, 0x1f, 0x20] {
        bench.add(&key(image), 0, &[0]);
    }
    let db = bench.open();
    let removed = |selection| db.remove(&selection).unwrap().units;
    assert_eq!(removed(Selection::Image("1f1F".to_owned())), 1);
    assert_eq!(removed(Selection::Path(PathBuf::from("/nowhere"))), 0);
    assert_eq!(removed(Selection::Path(PathBuf::from(IMAGE_PATH))), 2);
    bench.add(&key(5), 0, &[0]);
    let key_dir = ppin_persist::paths::to_hex(&key(5).directory());
    assert_eq!(removed(Selection::Key(key_dir[..6].to_owned())), 1);
    assert_eq!(db.stat().unwrap().units, 0);
}

#[test]
fn compaction_keeps_every_fragment() {
    let bench = Bench::new();
    bench.add(&key(1), 3, &[0, 16]);
    bench.add(&key(1), 4, &[16, 32]);
    bench.add(&key(1), 5, &[48, 0]);
    bench.add(&key(2), 0, &[0]);
    let db = bench.open();
    let compacted = db.compact().unwrap();
    assert_eq!(
        (compacted.images, compacted.units, compacted.duplicates),
        (1, 3, 2)
    );
    assert_eq!(bench.heads(&key(1)), BTreeSet::from([0, 16, 32, 48]));
    let list = db.list().unwrap();
    assert_eq!(list[0].units.len(), 1);
    assert_eq!(list[0].units[0].path.name.seq, 3);
    assert!(list[0].units[0].facts.is_ok());
    assert!(db.verify(|_, _| ()).unwrap().damage.is_empty());
    assert_eq!(db.compact().unwrap().images, 0);
}

#[test]
fn compaction_leaves_damaged_units_alone() {
    let bench = Bench::new();
    bench.add(&key(1), 0, &[0]);
    let bad = bench.add(&key(1), 1, &[16]);
    bench.add(&key(1), 2, &[32]);
    fs::write(bench.root.join(bad.relative()), b"ppinunit").unwrap();
    let compacted = bench.open().compact().unwrap();
    assert_eq!((compacted.units, compacted.damaged.len()), (2, 1));
    assert!(bench.root.join(bad.relative()).exists());
}

#[test]
fn the_cap_evicts_what_was_used_longest_ago() {
    let bench = Bench::new();
    for image in 1..=4 {
        let path = bench.add(&key(image), 0, &[0]);
        let dir = fs::File::open(bench.root.join(path.dir())).unwrap();
        let past = std::time::Duration::from_secs(u64::from(image) * 1000);
        dir.set_modified(std::time::SystemTime::now() - past)
            .unwrap();
    }
    let db = bench.open();
    let one = db.list().unwrap()[0].bytes();
    let options = GcOptions {
        cap: Some(2 * one + one / 2),
        compact: false,
        remove_dead: false,
        remove_damaged: false,
    };
    let collected = db.collect(&options).unwrap();
    assert_eq!((collected.evicted.units, collected.remaining), (2, 2 * one));
    let left: Vec<_> = db
        .list()
        .unwrap()
        .iter()
        .map(|image| image.image[0])
        .collect();
    assert_eq!(left, [1, 2]);
}

/// Reading and merging are no use.
#[test]
fn tidying_leaves_the_time_of_last_use() {
    let bench = Bench::new();
    let path = bench.add(&key(1), 0, &[0]);
    bench.add(&key(1), 1, &[16]);
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(90_000);
    let dir = fs::File::open(bench.root.join(path.dir())).unwrap();
    dir.set_modified(past).unwrap();
    let before = bench.open().list().unwrap()[0].last_use();
    bench.open().verify(|_, _| ()).unwrap();
    assert_eq!(bench.open().collect(&TIDY).unwrap().compacted.units, 2);
    assert_eq!(bench.open().list().unwrap()[0].last_use(), before);
}

#[test]
fn young_leftovers_are_not_swept() {
    let bench = Bench::new();
    let unit = bench.add(&key(1), 0, &[0]);
    let dir = bench.root.join(unit.dir());
    fs::write(dir.join(".tmp-1234"), b"being written").unwrap();
    let db = bench.open();
    assert_eq!(db.stat().unwrap().temporary, 1);
    let collected = db.collect(&TIDY).unwrap();
    assert_eq!(collected.temporary, 0);
    assert!(dir.join(".tmp-1234").exists());
}

#[test]
fn a_damaged_catalog_is_built_anew() {
    let bench = Bench::new();
    bench.add(&key(1), 0, &[0, 16]);
    bench.open().list().unwrap();
    let store = bench.root.join("catalog/store");
    let files: Vec<_> = fs::read_dir(&store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    assert!(!files.is_empty());
    for file in files {
        let sound = fs::read(&file).unwrap();
        for damage in [
            vec![],
            sound[..sound.len() / 2].to_vec(),
            vec![0xff; sound.len()],
        ] {
            fs::write(&file, &damage).unwrap();
            assert_eq!(bench.open().list().unwrap()[0].fragments(), 2);
        }
    }
    fs::remove_dir_all(bench.root.join("catalog")).unwrap();
    assert_eq!(bench.open().list().unwrap()[0].fragments(), 2);
    bench.open().rebuild_catalog().unwrap();
    assert!(bench.root.join("catalog/seal").exists());
}

#[test]
fn a_catalog_in_use_is_done_without() {
    use nix::fcntl::{Flock, FlockArg};
    let bench = Bench::new();
    bench.add(&key(1), 0, &[0, 16]);
    bench.open().list().unwrap();
    let file = fs::File::open(bench.root.join("catalog/lock")).unwrap();
    let _held = Flock::lock(file, FlockArg::LockExclusiveNonblock).unwrap();
    assert_eq!(bench.open().list().unwrap()[0].fragments(), 2);
    assert!(matches!(bench.open().rebuild_catalog(), Err(Error::Busy)));
}

#[test]
fn a_changed_file_is_not_described_from_memory() {
    let bench = Bench::new();
    let path = bench.add(&key(1), 0, &[0]);
    assert_eq!(bench.open().list().unwrap()[0].fragments(), 1);
    bench.put(&path, &unit(&key(1), &[0, 16, 32]));
    assert_eq!(bench.open().list().unwrap()[0].fragments(), 3);
}

#[test]
fn untrusted_places_are_refused_with_the_reason() {
    let bench = Bench::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let refusal = |path: &Path| match Database::open(path, Access::ReadWrite) {
        Err(Error::Refused { why, .. }) => Some(why),
        _ => None,
    };
    let link = elsewhere.path().join("link");
    symlink(&bench.root, &link).unwrap();
    assert_eq!(refusal(&link), Some(Refusal::Symlink));
    assert_eq!(refusal(&link.join("")), Some(Refusal::Symlink));
    let file = elsewhere.path().join("file");
    fs::write(&file, b"").unwrap();
    assert_eq!(refusal(&file), Some(Refusal::NotADirectory));
    fs::set_permissions(&bench.root, Permissions::from_mode(0o770)).unwrap();
    assert_eq!(refusal(&bench.root), Some(Refusal::Writable(0o770)));
}

/// Below the database, what is not trusted is done without, and said.
#[test]
fn untrusted_folders_are_done_without() {
    let spoil = |name: &str, how: &dyn Fn(&Path)| {
        let bench = Bench::new();
        let unit = bench.add(&key(1), 0, &[0]);
        let image = bench.root.join(unit.relative());
        let image = image.parent().unwrap().to_owned();
        let path = match name {
            "key" => image.parent().unwrap().to_owned(),
            "image" => image,
            _ => bench.root.join(name),
        };
        how(&path);
        let db = bench.open();
        assert!(db.list().unwrap().is_empty(), "{name}");
        assert_eq!(db.stat().unwrap().refused, 1, "{name}");
        assert_eq!(db.verify(|_, _| ()).unwrap().damage.len(), 1, "{name}");
        let like = path_in(&unit);
        assert!(db.import(&mut &*like).is_err(), "{name}");
    };
    for name in ["units", "key", "image"] {
        spoil(name, &|path| {
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        });
        spoil(name, &|path| {
            let real = path.with_extension("real");
            fs::rename(path, &real).unwrap();
            symlink(&real, path).unwrap();
        });
        spoil(name, &|path| {
            fs::rename(path, path.with_extension("away")).unwrap();
            fs::write(path, b"").unwrap();
        });
    }
}

/// An exchange file with another unit for the same image.
fn path_in(unit: &UnitPath) -> Vec<u8> {
    let other = Bench::new();
    assert_eq!(other.add(&key(1), 7, &[0, 16, 32]).image, unit.image);
    let mut file = Vec::new();
    other.open().export(&Selection::All, &mut file).unwrap();
    file
}

/// Nobody waits for a pipe that lies where a file should be.
#[test]
fn pipes_do_not_stop_the_verbs() {
    let bench = Bench::new();
    bench.add(&key(1), 0, &[0]);
    bench.open().list().unwrap();
    let fifo = |name: &str| {
        let path = bench.root.join(name);
        let _ = fs::remove_file(&path);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    };
    for name in ["catalog/seal", "catalog/lock", "tidy.lock"] {
        fifo(name);
    }
    assert_eq!(bench.open().list().unwrap()[0].fragments(), 1);
    assert!(bench.open().compact().is_err());
    let unit = path(&key(1), 3, 3).relative();
    fifo(unit.to_str().unwrap());
    assert_eq!(bench.open().verify(|_, _| ()).unwrap().damage.len(), 1);
}

#[test]
fn directories_of_others_are_refused() {
    if !nix::unistd::geteuid().is_root() {
        return; // Only root can give a directory away.
    }
    let bench = Bench::new();
    nix::unistd::chown(&bench.root, Some(12_345.into()), None).unwrap();
    let opened = Database::open(&bench.root, Access::ReadOnly);
    assert!(matches!(
        opened,
        Err(Error::Refused {
            why: Refusal::Owner(12_345),
            ..
        })
    ));
}

#[test]
fn tidying_reads_only_what_is_new() {
    let bench = Bench::new();
    let first = bench.add(&key(1), 0, &[0]);
    let db = bench.open();
    assert_eq!(db.verify_new(|_, _| ()).unwrap().units, 1);
    bench.add(&key(2), 0, &[0]);
    assert_eq!(db.verify_new(|_, _| ()).unwrap().units, 1);
    assert_eq!(db.verify_new(|_, _| ()).unwrap().units, 0);
    assert!(db.list().unwrap()[0].units[0].facts.as_ref().unwrap().sound);
    let full = bench.root.join(first.relative());
    let mut bytes = fs::read(&full).unwrap();
    bytes[5000] ^= 1;
    fs::write(&full, bytes).unwrap();
    assert_eq!(db.verify_new(|_, _| ()).unwrap().damage.len(), 1);
    assert_eq!(db.verify(|_, _| ()).unwrap().units, 2);
}

#[test]
fn untrusted_units_are_listed_with_the_reason() {
    let bench = Bench::new();
    let open_to_all = bench.add(&key(1), 0, &[0]);
    let full = bench.root.join(open_to_all.relative());
    fs::set_permissions(&full, Permissions::from_mode(0o666)).unwrap();
    let link = path(&key(1), 1, 1);
    symlink(&full, bench.root.join(link.relative())).unwrap();
    let list = bench.open().list().unwrap();
    let reasons: Vec<_> = list[0]
        .units
        .iter()
        .map(|unit| unit.facts.clone().unwrap_err())
        .collect();
    assert!(reasons[0].contains("others may write"), "{reasons:?}");
    assert!(reasons[1].contains("symbolic link"), "{reasons:?}");
    assert_eq!(bench.open().verify(|_, _| ()).unwrap().damage.len(), 2);
}

#[test]
fn reading_changes_nothing() {
    let bench = Bench::new();
    bench.add(&key(1), 0, &[0]);
    let db = Database::open(&bench.root, Access::ReadOnly).unwrap();
    assert_eq!(db.list().unwrap().len(), 1);
    assert!(!bench.root.join("catalog").exists());
    assert!(matches!(db.compact(), Err(Error::ReadOnly)));
    assert!(matches!(db.remove(&Selection::All), Err(Error::ReadOnly)));
    let missing = bench.root.join("not-there");
    let opened = Database::open(&missing, Access::ReadOnly);
    assert!(matches!(opened, Err(Error::Missing(_))));
    assert!(!missing.exists());
}

#[test]
fn the_default_place_follows_the_environment() {
    let place = |set: &[(&str, &str)]| {
        default_path(|name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    };
    let home = ("HOME", "/home/me");
    assert_eq!(place(&[home]), Some(PathBuf::from("/home/me/.cache/ppin")));
    assert_eq!(
        place(&[home, ("XDG_CACHE_HOME", "/c")]),
        Some(PathBuf::from("/c/ppin"))
    );
    assert_eq!(
        place(&[home, ("XDG_CACHE_HOME", "c")]),
        Some(PathBuf::from("/home/me/.cache/ppin"))
    );
    assert_eq!(place(&[home, ("PPIN_DB", "/d")]), Some(PathBuf::from("/d")));
    assert_eq!(
        place(&[home, ("PPIN_DB", "")]),
        Some(PathBuf::from("/home/me/.cache/ppin"))
    );
    assert_eq!(place(&[]), None);
}

#[test]
fn damaged_answers_of_the_processor_are_reported_and_removed() {
    let bench = Bench::new();
    let machine = Machine {
        boot: [b'0'; BOOT_LEN],
        version: [1, 2, 3],
    };
    let path = bench.root.join(CPUID);
    let mut bytes = cpuid::encode(&machine, &[]);
    for sound in [true, false] {
        fs::write(&path, &bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let damage = bench.open().verify(|_, _| ()).unwrap().damage;
        assert_eq!(damage.is_empty(), sound, "{damage:?}");
        bench.open().collect(&TIDY).unwrap();
        assert_eq!(path.exists(), sound);
        bytes[20] ^= 1;
    }
}
