//! Damage before a run: the run is right all the same, and says why it could not use
//! what it found. (`scripts/damage-trials` does this a thousand times.)

#![allow(missing_docs, reason = "tests")]

use ppin_tests::build::Guest;
use ppin_tests::stats::Stats;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Outcome, Ppin};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A small generator of reproducible numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn command() -> Cmd {
    Cmd::new("/bin/sh").args(["-c", "echo $((6 * 7)); exit 3"])
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)
            .expect("folder")
            .map(|entry| entry.unwrap().path())
        {
            if entry.is_dir() {
                folders.push(entry)
            } else {
                found.push(entry)
            }
        }
    }
    found.sort();
    found
}

/// A filled database as bytes, to be laid out again before each trial.
struct Trained {
    scratch: Scratch,
    contents: Vec<(PathBuf, Vec<u8>)>,
    right: Outcome,
}

impl Trained {
    fn new() -> Trained {
        let scratch = Scratch::new();
        let ppin = Ppin::new(&scratch.db());
        let right = command().run();
        for _ in 0..2 {
            assert_eq!(ppin.wrap(&command()).run(), right);
        }
        let read = |path: PathBuf| (path.clone(), fs::read(path).expect("database file"));
        let contents = files(&scratch.db()).into_iter().map(read).collect();
        Trained {
            scratch,
            contents,
            right,
        }
    }

    /// Puts the files back, changes them, runs, and gives back the statistics.
    fn trial(&self, what: &str, change: impl FnOnce(&[PathBuf])) -> Stats {
        let _ = fs::remove_dir_all(self.scratch.db());
        for (path, bytes) in &self.contents {
            let folder = path.parent().expect("folder");
            private_folder(folder);
            fs::write(path, bytes).expect("restore");
        }
        change(
            &self
                .contents
                .iter()
                .map(|(path, _)| path.clone())
                .collect::<Vec<_>>(),
        );
        let stats = self.scratch.path().join("stats");
        let _ = fs::remove_file(&stats);
        let ppin = Ppin::new(&self.scratch.db()).with(&[&format!("--stats={}", stats.display())]);
        let outcome = ppin.wrap(&command()).run();
        assert_eq!(
            outcome,
            self.right,
            "{what}: {}",
            ppin.wrap(&command()).shell()
        );
        Stats::one(&stats)
    }

    fn units(&self) -> impl Iterator<Item = (&PathBuf, &Vec<u8>)> {
        self.contents
            .iter()
            .filter(|(_, bytes)| bytes.len() > 4096)
            .map(|(path, bytes)| (path, bytes))
    }
}

fn private_folder(folder: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .expect("folder");
}

#[test]
fn truncated_files_are_refused_with_a_reason() {
    let trained = Trained::new();
    let mut random = Random(0x1234_5678_9abc_def1);
    for (path, bytes) in trained.units() {
        for _ in 0..4 {
            let len = random.below(bytes.len() as u64);
            let stats = trained.trial(&format!("{} cut to {len}", path.display()), |_| {
                fs::OpenOptions::new()
                    .write(true)
                    .open(path)
                    .unwrap()
                    .set_len(len)
                    .unwrap();
            });
            assert!(
                !stats.rejections().is_empty(),
                "{} cut to {len}: {stats:?}",
                path.display()
            );
        }
    }
}

#[test]
fn zeroed_and_foreign_files_are_refused() {
    let trained = Trained::new();
    for (path, bytes) in trained.units() {
        let stats = trained.trial("zeroes", |_| fs::write(path, vec![0; bytes.len()]).unwrap());
        assert!(!stats.rejections().is_empty(), "{stats:?}");
        trained.trial("empty", |_| fs::write(path, []).unwrap());
        trained.trial("text", |_| {
            fs::write(path, "not a unit\n".repeat(1000)).unwrap()
        });
        trained.trial("a folder", |_| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        });
    }
    trained.trial("all swapped", |paths| {
        let all: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        for (path, bytes) in paths.iter().zip(all.iter().rev()) {
            fs::write(path, bytes).unwrap();
        }
    });
}

#[test]
fn flipped_bits_never_change_a_result() {
    let trained = Trained::new();
    let mut random = Random(0xfeed_beef_0bad_cafe);
    for (path, bytes) in trained.units() {
        for _ in 0..12 {
            let at = random.below(bytes.len() as u64);
            let bit = 1u8 << random.below(8);
            trained.trial(
                &format!("{} byte {at} bit {bit:#x}", path.display()),
                |_| {
                    let file = fs::OpenOptions::new()
                        .read(true)
                        .write(true)
                        .open(path)
                        .unwrap();
                    file.write_all_at(&[bytes[usize::try_from(at).unwrap()] ^ bit], at)
                        .unwrap();
                },
            );
        }
    }
}

/// Whoever faults or gets a signal needs tables that were not read before: they must have
/// been verified with their code, when it was not too late to translate afresh.
#[test]
fn flipped_bits_do_not_wait_for_a_signal() {
    let scratch = Scratch::new();
    let Some(guest) = Guest::load("fault/faults_under_a_timer.c").build("nostdlib") else {
        return;
    };
    let native = Cmd::new(guest);
    let right = native.run();
    for _ in 0..4 {
        assert_eq!(Ppin::new(&scratch.db()).wrap(&native).run(), right);
    }
    let ppin = Ppin::new(&scratch.db()).with(&["--cache", "ro"]);
    let units = files(&scratch.db());
    for unit in units
        .iter()
        .filter(|path| path.extension() == Some("unit".as_ref()))
    {
        for bit in (0..8 * fs::metadata(unit).unwrap().len()).step_by(211) {
            flip(unit, bit);
            let outcome = ppin.wrap(&native).run();
            flip(unit, bit);
            assert_eq!(outcome, right, "bit {bit} of {}", unit.display());
        }
    }
}

/// Flips a bit; the file's modification time stays.
fn flip(path: &Path, bit: u64) {
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8).unwrap();
    file.write_all_at(&[byte[0] ^ 1 << (bit % 8)], bit / 8)
        .unwrap();
    file.set_modified(modified).unwrap();
}

#[test]
fn strangers_in_the_database_do_no_harm() {
    let trained = Trained::new();
    let stats = trained.trial("strangers", |paths| {
        let folder = paths[0].parent().unwrap();
        fs::write(folder.join("README"), "hello").unwrap();
        fs::write(folder.join("core"), vec![0x55; 100_000]).unwrap();
        std::os::unix::fs::symlink("/nonexistent", folder.join("link")).unwrap();
    });
    assert!(stats.is_warm(), "{stats:?}");
}
