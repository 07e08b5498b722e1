//! `ppin warm`: run programs so that their code is in the database.
//!
//! A single program keeps its input, output and exit; of several, which run beside each other, what
//! they print is dropped. Tools' reports are dropped always. At the end of each program the other
//! sides of the branches that it has executed are translated, too, which ordinary runs leave alone.
//! When all have run, the units of each image are made one. What was added is said on standard
//! error. With `--optimize`, the commands run once more to count where their branches lead, code is made anew by
//! that ([`straighten`]), and they run again. With `--static`, no program is run ([`statically`]).

mod commands;
mod learnt;
mod next;
mod runs;
mod statically;
mod straighten;
mod summary;
mod unrun;

use crate::database::path_of;
use crate::failure::{Failure, NO, USAGE, YES, failed};
use crate::options::{Format, optimize};
use crate::tools::Choice;
use clap::Args;
use next::Next;
use ppin_abi::optimize::Optimize;
use ppin_cachedb::{Access, Compacted, Database};
use runs::Purpose;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use summary::Summary;

/// `ppin warm`.
#[derive(Debug, Args)]
#[command(after_help = "\
A list has one command a line: words as in a shell, with its quotes, but without anything else \
that a shell does (`sh -c '...'` has it). What follows a # that begins a word is left out.\n\n\
With --static, PROG is the path of a program or library, and so are all words behind it; none of them is run. What \
loads a program is asked to list what it would load, as `ldd -r` does, so name no file that you do not trust. Libraries \
that a program needs are translated if they are named, too. What a start then needs lies scattered among what it does \
not: warm programs by running them where you can.\n\n\
Exit status: 0 all programs have run (whatever their own status), 1 one could not be run, \
2 wrong use.")]
pub struct Warm {
    /// Tool whose code is wanted: a bundled one (see `ppin tool list`), or the path of an object;
    /// given again, one more tool
    #[arg(short, long, value_name = "NAME|PATH")]
    pub tool: Vec<String>,
    /// Set a knob of a tool, as for `ppin run`
    #[arg(long, value_name = "[TOOL:]NAME=VALUE")]
    pub knob: Vec<String>,
    /// Make code anew by profile, or mechanisms of the compiler
    #[arg(long, value_name = "LIST", require_equals = true, num_args = 0..=1,
          default_missing_value = "", value_parser = wish, help = help())]
    pub optimize: Vec<Wish>,
    /// Database directory [default: $PPIN_DB, else $XDG_CACHE_HOME/ppin, else ~/.cache/ppin]
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// Bytes that the database may take (as in 500M) [default: $PPIN_MAX_SIZE, else 2G]
    #[arg(long, value_name = "SIZE", value_parser = crate::size::bytes)]
    pub max_size: Option<u64>,
    /// Translate programs and libraries without running them: all that their functions lead to
    #[arg(
        long = "static",
        requires = "command",
        conflicts_with_all = ["words", "list", "runs", "measure", "no_follow", "jobs"]
    )]
    pub statically: bool,
    /// A command in one word, as in `-c 'git status'`; given again, one more command
    #[arg(short = 'c', long = "command", value_name = "COMMAND")]
    pub words: Vec<String>,
    /// A file with commands, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
    /// Run so many commands at a time [default: one for each processor]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Run it this often: paths depend on addresses, which differ from run to run
    #[arg(long, value_name = "TIMES", default_value_t = 1)]
    pub runs: u32,
    /// Run it once more in the end, as `ppin run` does, and say what that cost
    #[arg(long)]
    pub measure: bool,
    /// Run the programs that PROG executes without instrumentation
    #[arg(long)]
    pub no_follow: bool,
    /// Format of the summary
    #[arg(long, default_value = "human")]
    pub format: Format,
    /// Program and arguments; with --static, paths of programs and libraries
    #[arg(
        value_name = "PROG",
        required_unless_present_any = ["words", "list"],
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// What `--optimize` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Traces that follow what the commands have mostly done.
    ByProfile,
    /// Mechanisms of the compiler.
    Mechanisms(Optimize),
}

fn wish(text: &str) -> Result<Wish, String> {
    match text {
        "" => Ok(Wish::ByProfile),
        list => optimize::list(list).map(Wish::Mechanisms),
    }
}

fn help() -> String {
    let by_profile = "Without LIST: run everything twice more, once to count where branches lead, and once with \
                      traces that follow what is mostly taken. With it: ";
    format!("{by_profile}{} [default: all]", optimize::help())
}

impl Warm {
    /// The mechanisms that are on.
    fn mechanisms(&self) -> Optimize {
        let mut lists = self.optimize.iter().rev();
        let last = lists.find_map(|wish| match wish {
            Wish::Mechanisms(list) => Some(*list),
            Wish::ByProfile => None,
        });
        last.unwrap_or(Optimize::ALL)
    }
}

/// Data that earlier runs wrote may be in memory only for this long; the kernel writes it to the
/// disk after half a minute.
const RECENT: Duration = Duration::from_secs(120);

/// Runs them.
pub fn warm(args: &Warm) -> Result<u8, Failure> {
    Choice::new(&args.tool, &[]).map_err(|why| Failure::new(USAGE, why))?;
    let path = path_of(args.db.as_deref())?;
    let start = SystemTime::now();
    let mut summary = Summary::new(args.format);
    if args.statically {
        return without_running(args, &path, start, summary);
    }
    let commands = commands::of(args)?;
    let mut sound = true;
    for _ in 0..args.runs.max(1) {
        let round = runs::all(args, &path, &commands, Purpose::Learn)?;
        sound &= round.learnt.processes != 0 && round.is_whole();
        summary.begin(round.learnt.text(), round.learnt.json());
    }
    let db = Database::open(&path, Access::ReadWrite).map_err(failed)?;
    let mut next = tidy(&db, start)?;
    if args.optimize.contains(&Wish::ByProfile) {
        let made = straighten::by_profile(args, (&path, &db), &commands, next::day_before(start))?;
        summary.add(made.text(), "optimized", made.json());
        // The next start knows how the new code goes on.
        sound &= made.whole;
        sound &= runs::all(args, &path, &commands, Purpose::Measure)?.is_whole();
        next = tidy(&db, start)?;
    }
    summary.add(next.text(), "next", next.json());
    if args.measure {
        let round = runs::all(args, &path, &commands, Purpose::Measure)?;
        sound &= round.is_whole();
        let cost = round.learnt;
        summary.add(cost.cost_text(), "measured", cost.cost_json());
    }
    Ok(if sound { YES } else { NO })
}

/// Translates images that are not run.
fn without_running(
    args: &Warm,
    path: &Path,
    start: SystemTime,
    mut summary: Summary,
) -> Result<u8, Failure> {
    if args.optimize.contains(&Wish::ByProfile) {
        let why = "--static --optimize: where branches lead is only known of what runs";
        return Err(Failure::new(USAGE, why.to_owned()));
    }
    let round = statically::all(args, path)?;
    let sound = round.is_whole();
    summary.begin(round.learnt.text(), round.learnt.json());
    if round.learnt.processes != 0 {
        let db = Database::open(path, Access::ReadWrite).map_err(failed)?;
        let next = tidy(&db, start)?;
        summary.add(next.text(), "next", next.json());
    }
    Ok(if sound { YES } else { NO })
}

/// Merges the units of the images that were used, and brings all to the disk.
fn tidy(db: &Database, start: SystemTime) -> Result<Next, Failure> {
    let since = next::day_before(start);
    let merged = db.compact_since(since).unwrap_or_else(|why| {
        eprintln!("ppin: units are not merged: {why}");
        Compacted::default()
    });
    db.sync(start - RECENT).map_err(failed)?;
    Ok(Next::new(&db.list().map_err(failed)?, since, &merged))
}
