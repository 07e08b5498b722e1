//! Planted files: what others own or may write to, what is no regular file, and what a
//! symbolic link leads to is not used at any level of a database, and the run says so.

#![allow(missing_docs, reason = "tests")]

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::{chown, geteuid, mkfifo};
use ppin_tests::stats::Stats;
use ppin_tests::ways::Scratch;
use ppin_tests::{Cmd, Outcome, Ppin};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Some other user.
const OTHER: u32 = 12_345;

fn command() -> Cmd {
    let cmd = Cmd::new("/bin/sh").args(["-c", "echo $((6 * 7)); exit 3"]);
    cmd.timeout(Duration::from_secs(60))
}

/// A filled database, and copies of it.
struct Trained {
    scratch: Scratch,
    right: Outcome,
}

impl Trained {
    fn new() -> Trained {
        let scratch = Scratch::new();
        let trained = Trained {
            right: command().run(),
            scratch,
        };
        let ppin = Ppin::new(&trained.original());
        for _ in 0..3 {
            assert_eq!(ppin.wrap(&command()).run(), trained.right);
        }
        trained
    }

    fn original(&self) -> PathBuf {
        self.scratch.path().join("original")
    }

    /// A run with a copy in which `plant` has changed something.
    fn run(&self, what: &str, plant: impl FnOnce(&Path)) -> Stats {
        let copy = self.scratch.db();
        let _ = fs::remove_dir_all(&copy);
        let mut cp = Command::new("cp");
        let copied = cp.arg("-a").arg(self.original()).arg(&copy).status();
        assert!(copied.unwrap().success());
        plant(&copy);
        self.with(&Ppin::new(&copy), what)
    }

    fn with(&self, ppin: &Ppin, what: &str) -> Stats {
        let stats = self.scratch.path().join("stats");
        let _ = fs::remove_file(&stats);
        let ppin = ppin.with(&[&format!("--stats={}", stats.display())]);
        let cmd = ppin.wrap(&command());
        assert_eq!(cmd.run(), self.right, "{what}: {}", cmd.shell());
        Stats::one(&stats)
    }

    /// Nothing of the database is used, and `why` is among the reasons.
    fn refused(&self, what: &str, why: &str, plant: impl FnOnce(&Path)) {
        let stats = self.run(what, plant);
        let reasons = stats.rejections();
        assert_eq!(stats.number("units_mapped"), 0, "{what}: {stats:?}");
        let said = reasons.iter().any(|reason| reason.contains(why));
        assert!(said, "{what}: {reasons:?}");
    }
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn below(dirs: &[PathBuf]) -> Vec<PathBuf> {
    dirs.iter().flat_map(|dir| children(dir)).collect()
}

/// The folders of one level of a database, from the top.
fn folders(db: &Path, level: &str) -> Vec<PathBuf> {
    let units = vec![db.join("units")];
    match level {
        "units" => units,
        "key" => below(&units),
        "image" => below(&below(&units)),
        _ => vec![db.join(level)],
    }
}

fn units(db: &Path) -> Vec<PathBuf> {
    below(&folders(db, "image"))
}

fn open_to_all(path: &Path) {
    let mode = fs::metadata(path).unwrap().permissions().mode() | 0o022;
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn give_away(path: &Path) {
    chown(path, Some(OTHER.into()), None).unwrap();
}

/// Puts a link to the thing into its place. The name for the thing is no hash and no unit's.
fn link(path: &Path) {
    let elsewhere = path.with_extension("elsewhere");
    fs::rename(path, &elsewhere).unwrap();
    symlink(&elsewhere, path).unwrap();
}

fn replace(path: &Path, make: impl FnOnce(&Path)) {
    match path.is_dir() {
        true => fs::remove_dir_all(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    }
    make(path);
}

fn pipe(path: &Path) {
    replace(path, |path| {
        mkfifo(path, Mode::from_bits_truncate(0o600)).unwrap()
    });
}

fn socket(path: &Path) {
    // Too long for a socket's address: bound elsewhere, and moved.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let short = folder.path().join("s");
    let _socket = std::os::unix::net::UnixListener::bind(&short).unwrap();
    replace(path, |path| fs::rename(&short, path).unwrap());
}

/// The terminal of the process, of which there may be none.
fn device(path: &Path) {
    let mode = Mode::from_bits_truncate(0o600);
    replace(path, |path| {
        mknod(path, SFlag::S_IFCHR, mode, 5 << 8).unwrap()
    });
}

fn plain(path: &Path) {
    replace(path, |path| fs::write(path, b"").unwrap());
}

type Plant = (&'static str, fn(&Path), &'static str);

const OWNERS: &[Plant] = &[("of another user", give_away, "belongs to user 12345")];

const MODES: &[Plant] = &[
    ("writable", open_to_all, "others may write to it"),
    ("linked", link, "symbolic link"),
];

fn plants(special: &'static [Plant]) -> impl Iterator<Item = &'static Plant> {
    // Only root can give files away.
    let owners = if geteuid().is_root() { OWNERS } else { &[] };
    MODES.iter().chain(owners).chain(special)
}

#[test]
fn planted_folders_are_not_used() {
    let trained = Trained::new();
    let special = &[("a file", plain as fn(&Path), "not a directory")];
    for level in ["units", "key", "image"] {
        for (how, plant, why) in plants(special) {
            trained.refused(&format!("{level} folder {how}"), why, |db| {
                folders(db, level).iter().for_each(|path| plant(path));
            });
        }
    }
}

#[test]
fn planted_units_are_not_used_and_stop_nobody() {
    let trained = Trained::new();
    let special: &[Plant] = &[
        ("a pipe", pipe, "not a regular file"),
        ("a socket", socket, "not a regular file"),
    ];
    for (how, plant, why) in plants(special) {
        trained.refused(&format!("units {how}"), why, |db| {
            units(db).iter().for_each(|path| plant(path));
        });
    }
    if geteuid().is_root() {
        let all = |db: &Path| units(db).iter().for_each(|path| device(path));
        trained.refused("units a device", "", all);
    }
}

/// What only the verbs use does not stop a run, whatever it is.
#[test]
fn a_plain_file_for_the_catalog_stops_no_run() {
    let trained = Trained::new();
    let stats = trained.run("catalog", |db| fs::write(db.join("catalog"), "").unwrap());
    assert!(stats.is_warm(), "{stats:?}");
}

/// A database that is only read, under another one, is judged by the same rule.
#[test]
fn planted_bases_are_not_used() {
    let trained = Trained::new();
    for (how, plant, why) in plants(&[]) {
        let stats = trained.run(how, |db| {
            units(db).iter().for_each(|path| plant(path));
            fs::rename(db, db.with_extension("base")).unwrap();
        });
        assert_eq!(stats.number("units_mapped"), 0, "{how}");
        let _ = fs::remove_dir_all(trained.scratch.db());
        let base = trained.scratch.db().with_extension("base");
        let ppin = Ppin::new(&trained.scratch.db());
        let stats = trained.with(&ppin.with(&["--db", base.to_str().unwrap()]), how);
        assert_eq!(stats.number("units_mapped"), 0, "{how}: {stats:?}");
        // Memos of the base are fine, but today's runs look for them in the top one; code
        // of small files is looked up by their contents.
        let reasons = stats.rejections();
        assert!(
            reasons.iter().any(|r| r.contains(why)),
            "{how}: {reasons:?}"
        );
        let _ = fs::remove_dir_all(&base);
    }
}

/// Nothing is saved where others could exchange it, either.
#[test]
fn nothing_is_written_to_planted_folders() {
    let trained = Trained::new();
    for (how, plant, _) in plants(&[]) {
        let place = trained.scratch.db().join("units");
        trained.run(how, |db| {
            for folder in children(&db.join("units")) {
                fs::remove_dir_all(folder).unwrap();
            }
            plant(&place);
        });
        assert!(children(&place).is_empty(), "{how}");
    }
}

/// What leads to the database is the user's affair.
#[test]
fn links_above_the_database_are_followed() {
    let trained = Trained::new();
    let link = trained.scratch.path().join("link");
    symlink(trained.scratch.path(), &link).unwrap();
    let stats = trained.with(&Ppin::new(&link.join("original")), "a link above");
    assert!(
        stats.is_warm() && stats.rejections().is_empty(),
        "{stats:?}"
    );
}
