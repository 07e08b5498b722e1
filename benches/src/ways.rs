//! Ways of running one command: natively, under ppin with an empty or a filled
//! database, with a tool, and under peers that are installed.

use crate::Options;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Runs of a command with a database before it counts as warm.
const TRAINING: usize = 5;

/// A command to measure.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name in the table.
    pub name: String,
    /// Program and arguments.
    pub words: Vec<String>,
}

impl Job {
    /// A job named `name`; `None`, said on stderr, if the program is not installed.
    #[must_use]
    pub fn new(name: &str, program: &str, args: &[&str]) -> Option<Job> {
        let Some(path) = find_elf(program) else {
            eprintln!("SKIPPED {name}: {program} is not installed");
            return None;
        };
        let mut words = vec![path.display().to_string()];
        words.extend(args.iter().map(|arg| (*arg).to_owned()));
        Some(Job {
            name: name.to_owned(),
            words,
        })
    }

    fn command(&self, prefix: &[String], dir: &Path) -> Command {
        let mut words = prefix.iter().chain(&self.words);
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).current_dir(dir).env("LC_ALL", "C");
        command
    }
}

/// One way of running.
#[derive(Debug)]
pub struct Way {
    /// Its name in the table.
    pub name: String,
    prefix: Vec<String>,
    db: Option<PathBuf>,
    cold: bool,
}

impl Way {
    /// Two ways: natively, and under ppin with a database that starts empty.
    #[must_use]
    pub fn pair(options: &Options, scratch: &TempDir) -> [Way; 2] {
        ["native", "warm"].map(|name| {
            let mut all = all(
                &Options {
                    ways: vec![name.into()],
                    ..options.clone()
                },
                scratch,
            );
            all.pop().expect("native, and what was asked for")
        })
    }

    /// Empties the database.
    pub fn forget(&self) {
        if let Some(db) = &self.db {
            let _ = fs::remove_dir_all(db);
        }
    }

    /// Fills the database, if this way measures warm runs.
    pub fn train(&self, job: &Job, dir: &Path) {
        if self.db.is_some() && !self.cold {
            for _ in 0..TRAINING {
                crate::measure::run(job.command(&self.prefix, dir));
            }
        }
    }

    /// The command for one measured run.
    #[must_use]
    pub fn command(&self, job: &Job, dir: &Path) -> Command {
        if self.cold {
            self.forget();
        }
        job.command(&self.prefix, dir)
    }
}

/// All ways that the options ask for, native first.
#[must_use]
pub fn all(options: &Options, scratch: &TempDir) -> Vec<Way> {
    let mut ways = vec![Way {
        name: "native".into(),
        prefix: Vec::new(),
        db: None,
        cold: false,
    }];
    let ppin = options.executable().display().to_string();
    for (name, tool, cold) in [
        ("cold", None, true),
        ("warm", None, false),
        ("bbcount", Some("bbcount"), false),
        ("icount", Some("icount"), false),
    ] {
        let db = scratch.path().join(format!("db-{name}"));
        let mut prefix: Vec<String> = vec![
            ppin.clone(),
            "run".into(),
            "--db".into(),
            db.display().to_string(),
        ];
        if let Some(tool) = tool {
            prefix.extend(["-t".into(), tool.into(), "-o".into(), "/dev/null".into()]);
        }
        prefix.push("--".into());
        ways.push(Way {
            name: name.into(),
            prefix,
            db: Some(db),
            cold,
        });
    }
    if options.peers {
        ways.extend(peers());
    }
    let wanted = |way: &Way| {
        let default = way.name != "icount";
        way.name == "native"
            || if options.ways.is_empty() {
                default
            } else {
                options.ways.contains(&way.name)
            }
    };
    ways.retain(wanted);
    ways
}

fn peers() -> impl Iterator<Item = Way> {
    let known: [(&str, &str, &[&str]); 4] = [
        ("dynamorio", "drrun", &["--"]),
        ("qemu", "qemu-x86_64", &[]),
        ("valgrind", "valgrind", &["-q", "--tool=none"]),
        ("pin", "pin", &["--"]),
    ];
    known.into_iter().filter_map(|(name, program, args)| {
        let path = find_elf(program).or_else(|| find(program))?;
        let mut prefix = vec![path.display().to_string()];
        prefix.extend(args.iter().map(|arg| (*arg).to_owned()));
        Some(Way {
            name: name.into(),
            prefix,
            db: None,
            cold: false,
        })
    })
}

fn candidates(name: &str) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|dir| dir.join(name))
        .filter(|path| path.is_file())
        .collect()
}

fn find(name: &str) -> Option<PathBuf> {
    candidates(name).into_iter().next()
}

/// Path of an ELF program along PATH: wrapper scripts are skipped.
fn find_elf(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Path::new(name).exists().then(|| name.into());
    }
    candidates(name).into_iter().find(|path| {
        let mut magic = [0; 4];
        fs::File::open(path)
            .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic))
            .is_ok_and(|()| magic == *b"\x7fELF")
    })
}
