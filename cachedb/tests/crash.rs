//! A process that stops at any step leaves a database that is right and has lost
//! nothing that was published before.

mod common;

use common::{Bench, key};
use ppin_cachedb::{Access, Database, Disk, Files, GcOptions, Selection};
use ppin_persist::{Thawed, UnitFile, freeze};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::NamedTempFile;

/// The file system, for a number of steps; then nothing works any more.
#[derive(Clone, Debug)]
struct Stopping {
    left: Arc<AtomicUsize>,
}

impl Stopping {
    fn after(steps: usize) -> Self {
        Self {
            left: Arc::new(AtomicUsize::new(steps)),
        }
    }

    fn step(&self) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::Error::other("stopped"));
        }
        self.left.store(left - 1, Ordering::Relaxed);
        Ok(())
    }
}

impl Files for Stopping {
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?;
        Disk.make_dir(dir)
    }

    /// Stopped, it has written half.
    fn write_temporary(&self, dir: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
        if let Err(error) = self.step() {
            let half = Disk.write_temporary(dir, &bytes[..bytes.len() / 2])?;
            half.keep()?;
            return Err(error);
        }
        Disk.write_temporary(dir, bytes)
    }

    /// Stopped, it leaves the temporary file behind.
    fn rename(&self, temporary: NamedTempFile, to: &Path) -> io::Result<()> {
        if let Err(error) = self.step() {
            temporary.keep()?;
            return Err(error);
        }
        Disk.rename(temporary, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?;
        Disk.sync_dir(dir)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        Disk.remove(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?;
        Disk.remove_dir(dir)
    }
}

fn filled() -> Bench {
    let bench = Bench::new();
    bench.add(&key(1), 0, &[0, 16]);
    bench.add(&key(1), 1, &[16, 32]);
    bench.add(&key(1), 2, &[48]);
    bench.add(&key(2), 0, &[0]);
    bench.add(&key(2), 1, &[64]);
    bench
}

/// Runs `work` on a new database for every number of steps until it is done; after
/// each, `check` sees what is left. Says how many steps there were.
fn stop_everywhere(
    work: impl Fn(&Database) -> Result<(), ppin_cachedb::Error>,
    check: impl Fn(&Bench),
) -> usize {
    for steps in 0.. {
        let bench = filled();
        let files = Box::new(Stopping::after(steps));
        let db = Database::open_with(&bench.root, Access::ReadWrite, files).unwrap();
        let done = work(&db).is_ok();
        let verified = bench.open().verify(|_, _| ()).unwrap();
        assert!(
            verified.damage.is_empty(),
            "step {steps}: {:?}",
            verified.damage
        );
        check(&bench);
        if done {
            return steps;
        }
    }
    unreachable!()
}

fn all_there(bench: &Bench) {
    assert_eq!(bench.heads(&key(1)), BTreeSet::from([0, 16, 32, 48]));
    assert_eq!(bench.heads(&key(2)), BTreeSet::from([0, 64]));
}

#[test]
fn compaction_may_stop_anywhere() {
    let steps = stop_everywhere(
        |db| db.compact().map(|_| ()),
        |bench| {
            all_there(bench);
            // The next one finishes the work.
            bench.open().compact().unwrap();
            all_there(bench);
            let list = bench.open().list().unwrap();
            assert!(list.iter().all(|image| image.units.len() == 1));
        },
    );
    assert!(steps >= 13, "{steps}");
}

#[test]
fn rewriting_may_stop_anywhere() {
    let explored = |unit: &UnitFile<'_>| {
        let traces = unit.thaw_all().ok()?;
        let pieces: Vec<_> = traces.iter().map(Thawed::piece).collect();
        let mut spec = unit.spec(&pieces);
        (!spec.explored).then(|| spec.explored = true)?;
        freeze(&spec).ok()
    };
    let rewrite = |db: &Database| db.rewrite_since(i64::MIN, explored);
    let steps = stop_everywhere(
        |db| rewrite(db).map(|_| ()),
        |bench| {
            all_there(bench);
            rewrite(&bench.open()).unwrap();
            all_there(bench);
            assert_eq!(rewrite(&bench.open()).unwrap(), 0, "all are made anew");
        },
    );
    assert!(steps >= 13, "{steps}");
}

#[test]
fn import_may_stop_anywhere() {
    let mut pack = Vec::new();
    filled().open().export(&Selection::All, &mut pack).unwrap();
    stop_everywhere(
        |db| {
            for image in [1, 2] {
                let removed = Selection::Image(format!("{image:02x}"));
                db.remove(&removed)?;
            }
            db.import(&mut &pack[..]).map(|_| ())
        },
        |bench| {
            bench.open().import(&mut &pack[..]).unwrap();
            all_there(bench);
        },
    );
}

#[test]
fn collection_may_stop_anywhere() {
    let options = GcOptions {
        cap: Some(0),
        compact: true,
        remove_dead: false,
        remove_damaged: true,
    };
    stop_everywhere(
        |db| db.collect(&options).map(|_| ()),
        |bench| {
            bench.open().collect(&options).unwrap();
            assert_eq!(bench.open().stat().unwrap().units, 0);
        },
    );
}

#[test]
fn a_process_that_died_with_the_catalog_open_costs_only_the_catalog() {
    let bench = filled();
    bench.open().list().unwrap();
    fs::remove_file(bench.root.join("catalog/seal")).unwrap();
    all_there(&bench);
    assert!(bench.root.join("catalog/seal").exists());
}

#[test]
fn an_abandoned_temporary_file_is_no_unit() {
    let bench = filled();
    let dir = bench.root.join(common::path(&key(1), 0, 0).dir());
    fs::write(dir.join(".tmp-dead"), b"ppinunit").unwrap();
    all_there(&bench);
    assert_eq!(bench.open().stat().unwrap().temporary, 1);
}
