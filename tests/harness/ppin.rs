//! Finding the `ppin` executable: `PPIN_BIN` if set, else built by cargo beside the
//! running test, once for each run of the test runner.

use crate::build::{target_profile_dir, work_dir};
use crate::command::Cmd;
use nix::fcntl::{Flock, FlockArg};
use std::ffi::OsStr;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A `ppin` executable and a database to use it with.
#[derive(Clone, Debug)]
pub struct Ppin {
    exe: PathBuf,
    db: PathBuf,
    options: Vec<String>,
}

impl Ppin {
    /// The executable under test with the database `db`. Words of `PPIN_TEST_OPTIONS`
    /// (a small cache, say) are added to every `run`.
    pub fn new(db: &Path) -> Ppin {
        let extra = env::var("PPIN_TEST_OPTIONS").unwrap_or_default();
        let options = extra.split_whitespace().map(str::to_owned).collect();
        Ppin {
            exe: executable(),
            db: db.to_owned(),
            options,
        }
    }

    /// The same with more options for `run`.
    pub fn with(&self, options: &[&str]) -> Ppin {
        let mut more = self.clone();
        more.options
            .extend(options.iter().map(|option| (*option).to_owned()));
        more
    }

    /// `ppin run --db DB OPTIONS -- PROGRAM ARGS`, as a changed copy of `native`.
    pub fn wrap(&self, native: &Cmd) -> Cmd {
        let mut words: Vec<&OsStr> = vec!["run".as_ref(), "--db".as_ref(), self.db.as_os_str()];
        words.extend(self.options.iter().map(|option| option.as_ref() as &OsStr));
        words.push("--".as_ref());
        native.prefixed(&self.exe, &words)
    }

    /// `ppin ARGS`, as it stands.
    pub fn verb(&self, args: &[&str]) -> Cmd {
        Cmd::new(&self.exe).args(args)
    }

    /// The database.
    pub fn db(&self) -> &Path {
        &self.db
    }
}

/// Path of the `ppin` executable under test.
pub fn executable() -> PathBuf {
    if let Some(path) = env::var_os("PPIN_BIN") {
        return fs::canonicalize(&path).unwrap_or_else(|e| panic!("PPIN_BIN={path:?}: {e}"));
    }
    let exe = target_profile_dir().join("ppin");
    build_once(&exe);
    exe
}

/// Every test is a process of its own under some runners, so "once" is written down:
/// a locked file holds the identity of the runner for which the build was done.
fn build_once(exe: &Path) {
    fs::create_dir_all(work_dir()).expect("work folder");
    let stamp = work_dir().join("built-for");
    let file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&stamp);
    let _lock = Flock::lock(file.expect("stamp file"), FlockArg::LockExclusive).expect("lock");
    let runner = runner_identity();
    if exe.exists() && fs::read_to_string(&stamp).is_ok_and(|written| written == runner) {
        return;
    }
    build();
    fs::write(&stamp, runner).expect("stamp");
}

fn runner_identity() -> String {
    let pid = parent_id();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Field 22 (start time); the name before it, in parentheses, may hold spaces.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    format!(
        "{pid} {}",
        after_name.split_whitespace().nth(19).unwrap_or_default()
    )
}

fn build() {
    let profile = target_profile_dir();
    let target = profile.parent().expect("target folder");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args([
            "build",
            "--quiet",
            "--package",
            "ppin",
            "--bin",
            "ppin",
            "--target-dir",
        ])
        .arg(target);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo");
    assert!(status.success(), "building ppin failed");
}
