//! Running the commands, several at a time.

use super::Warm;
use super::commands::Command as Words;
use super::learnt::Learnt;
use crate::failure::{FAILED, Failure, failed};
use crate::text::Progress;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What commands are run for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose<'a> {
    /// To translate what they execute, and what they might.
    Learn,
    /// To see what a user will pay.
    Measure,
    /// They are loaders that list what they load: to translate what the places in this file lead to.
    List(&'a Path),
    /// To see where their branches lead: reports go to files in this folder, code to a database there.
    Profile(&'a Path),
}

/// What a run of all commands has brought.
#[derive(Debug, Default)]
pub struct Round {
    pub learnt: Learnt,
    /// Commands that could not be run, with the reason.
    pub failures: Vec<String>,
}

/// Runs all `commands` once.
pub fn all(
    args: &Warm,
    db: &Path,
    commands: &[Words],
    purpose: Purpose<'_>,
) -> Result<Round, Failure> {
    if let [command] = commands
        && args.command == *command
    {
        let learnt = run(args, db, command, purpose, false).map_err(failed)?;
        let failures = Vec::new();
        return Ok(Round { learnt, failures });
    }
    let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let jobs = args.jobs.map_or_else(processors, NonZeroUsize::get);
    let (next, progress) = (AtomicUsize::new(0), Progress::new("running"));
    let shared = Mutex::new((Round::default(), 0));
    let work = || {
        while let Some(command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ran = run(args, db, command, purpose, true);
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let (round, done) = &mut *shared;
            round.add(command, ran);
            *done += 1;
            progress.at(*done, commands.len() as u64);
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.min(commands.len()) {
            scope.spawn(work);
        }
    });
    let (round, _) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(round)
}

impl Round {
    /// Whether all commands could be run; those that could not are named on standard error.
    pub fn is_whole(&self) -> bool {
        for failure in &self.failures {
            eprintln!("ppin: {failure}");
        }
        self.failures.is_empty()
    }

    /// Adds what running `command` has brought, or why it could not be run.
    pub fn add(&mut self, command: &[OsString], ran: Result<Learnt, String>) {
        let named = command.join(OsStr::new(" "));
        let named = named.display();
        match ran {
            Ok(learnt) => self.learnt.join(learnt, &named.to_string()),
            Err(why) => self.failures.push(format!("{named}: {why}")),
        }
    }
}

/// Runs one command on the database at `db`; `alone`: without our input and output.
pub fn run(
    args: &Warm,
    db: &Path,
    words: &[OsString],
    purpose: Purpose<'_>,
    alone: bool,
) -> Result<Learnt, String> {
    let said = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(said)?;
    let [stats, errors] = ["stats", "errors"].map(|name| folder.path().join(name));
    let mut command = command(args, db, words, purpose, &stats);
    if alone {
        let file = File::create(&errors).map_err(said)?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
    }
    let status = command.status().map_err(said)?;
    let lines = fs::read_to_string(&stats).unwrap_or_default();
    let mut learnt = Learnt::default();
    lines.lines().for_each(|line| learnt.add(line));
    if learnt.processes == 0 && status.code().is_none_or(|code| code >= i32::from(FAILED)) {
        // Our own failure: said by the child, if it could be heard.
        let own = || {
            fs::read_to_string(&errors)
                .ok()?
                .lines()
                .last()
                .map(str::to_owned)
        };
        let why = alone.then(own).flatten();
        let why = why.map(|line| line.trim_start_matches("ppin: ").to_owned());
        return Err(why.unwrap_or_else(|| format!("nothing was learnt: {}", ended(status))));
    }
    learnt.ended = ended(status);
    Ok(learnt)
}

fn command(
    args: &Warm,
    db: &Path,
    words: &[OsString],
    purpose: Purpose<'_>,
    stats: &Path,
) -> Command {
    let mut option = OsString::from("--stats=");
    option.push(stats);
    let mut command = Command::new("/proc/self/exe");
    command.arg("run").arg(option);
    match purpose {
        Purpose::Profile(folder) => profiled(&mut command, folder),
        Purpose::Learn => {
            command.args(["--engine-option", "explore"]);
            as_asked(&mut command, args, db);
        }
        Purpose::List(places) => {
            listed(&mut command, places);
            as_asked(&mut command, args, db);
        }
        Purpose::Measure => as_asked(&mut command, args, db),
    }
    if args.no_follow {
        command.arg("--no-follow");
    }
    command.arg("--").args(words);
    command
}

/// Exploring from these `places`. The loader lists what it loads, relocates all of it at once, and runs nothing
/// (`ld.so`(8)). This executable has no loader, and comes through.
fn listed(command: &mut Command, places: &Path) {
    let mut option = OsString::from("places=");
    option.push(places);
    command.args(["--engine-option", "explore", "--engine-option"]);
    command.arg(option);
    for name in ["LD_TRACE_LOADED_OBJECTS", "LD_WARN", "LD_BIND_NOW"] {
        command.env(name, "1");
    }
}

/// With the tools of the user, in their database.
fn as_asked(command: &mut Command, args: &Warm, db: &Path) {
    command.args(["-o", "/dev/null"]).arg("--db").arg(db);
    command.arg(format!("--optimize={}", args.mechanisms()));
    for tool in &args.tool {
        command.args(["-t", tool]);
    }
    if let Some(size) = args.max_size {
        command.args(["--max-size", &size.to_string()]);
    }
    for knob in &args.knob {
        command.args(["--knob", knob]);
    }
}

/// With the tool that counts branches.
fn profiled(command: &mut Command, folder: &Path) {
    command.args(["-t", "branches", "--format", "json"]);
    command.arg("-o").arg(folder.join("%p.json"));
    command.arg("--db").arg(folder.join("db"));
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => String::new(),
        (Some(code), _) => format!("the program ended with status {code}"),
        (None, signal) => format!("the program was killed by signal {}", signal.unwrap_or(0)),
    }
}
