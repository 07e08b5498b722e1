//! All options, once: from these definitions come the parser, `--help`, the manual
//! pages and the shell completions.

use crate::failure::{FAILED, USAGE};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Run programs under instrumentation; their translated code is kept for later runs.
#[derive(Debug, Parser)]
#[command(
    name = "ppin",
    version,
    about,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "`ppin -t TOOL -- PROG ARGS...` is short for `ppin run -t TOOL -- PROG ARGS...`."
)]
pub struct Cli {
    /// What holds for all verbs
    #[command(flatten)]
    pub global: Global,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// What holds for all verbs.
#[derive(Debug, Args)]
pub struct Global {
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a program under a tool
    Run(Run),
    /// Become a program that the parent traces (for `run --check`)
    #[command(hide = true)]
    Step(crate::verb::check::Step),
    /// Run a program so that its translated code is kept
    Warm(crate::verb::warm::Warm),
    /// Show kept code: images, units, traces with original and translation
    Inspect(crate::verb::inspect::Inspect),
    /// Look into the database, tidy it, carry it elsewhere
    Db(crate::verb::db::Db),
    /// List the tools and explain their knobs
    #[command(subcommand)]
    Tool(Tool),
    /// Check what this environment lets ppin do
    Doctor(crate::verb::doctor::Doctor),
    /// Print the manual page or shell completions
    #[command(subcommand)]
    Gen(Gen),
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Human,
    /// For programs
    Json,
}

/// How the database is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cache {
    /// Read what is there, add what is new
    Rw,
    /// Read only
    Ro,
    /// Neither
    Off,
}

/// `ppin run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: that of the program (it dies by the same signal, too); 125 if ppin itself \
fails, 126 if the program cannot be executed or instrumented, 127 if it is not found.")]
pub struct Run {
    /// Tool to run (see `ppin tool list`)
    #[arg(short, long, value_name = "NAME", default_value = "null")]
    pub tool: String,
    /// Set a knob of the tool (see `ppin tool doc`)
    #[arg(long, value_name = "NAME=VALUE", value_parser = knob)]
    pub knob: Vec<(String, String)>,
    /// Database directory; given again, read-only databases beneath the first
    #[arg(long, value_name = "DIR")]
    pub db: Vec<PathBuf>,
    /// How the database is used
    #[arg(long, value_name = "MODE", default_value = "rw")]
    pub cache: Cache,
    /// Bytes that the database may take (as in 500M); a run that adds to it removes what was
    /// used longest ago [default: $PPIN_MAX_SIZE, else 2G]
    #[arg(long, value_name = "SIZE", value_parser = crate::size::bytes)]
    pub max_size: Option<u64>,
    /// Append statistics, a JSON line for each process, to FILE, or write them to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub stats: Option<Option<PathBuf>>,
    /// Write the tool's report to FILE (`%p` becomes the process id) instead of standard error;
    /// children append to it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Append what the engine does to FILE (`%p` becomes the process id), for bug reports
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Run the programs that PROG executes without instrumentation
    #[arg(long)]
    pub no_follow: bool,
    /// Format of the tool's report
    #[arg(long, default_value = "human")]
    pub format: Format,
    /// Compare with single-stepping. Alone, the whole of a short program is, instruction
    /// by instruction (status 0: the same, 1: not); with `=sample[:N]`, the program runs as
    /// ever, and short stretches of it are, at one in N branches to computed addresses
    /// [without N: as many as make it some four times slower] (status 125: not the same)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true,
          default_missing_value = "lockstep")]
    pub check: Option<Check>,
    /// For ppin's own tests: cache-limit=SIZE, shuffle, forbid-preferred
    #[arg(long, value_name = "OPTION", hide = true)]
    pub engine_option: Vec<EngineOption>,
    /// Program and arguments
    #[arg(value_name = "PROG", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// How a run is compared with the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// All of it.
    Lockstep,
    /// One in so many arrivals in translated code; `None`: as time allows.
    Sample(Option<NonZeroU32>),
}

impl std::str::FromStr for Check {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |every: &str| {
            let every = every.parse();
            every.map_err(|_| "N is a number from 1 on".to_owned())
        };
        match text.split_once(':') {
            None if text == "lockstep" => Ok(Self::Lockstep),
            None if text == "sample" => Ok(Self::Sample(None)),
            Some(("sample", every)) => Ok(Self::Sample(Some(number(every)?))),
            _ => Err("it is lockstep, sample or sample:N".to_owned()),
        }
    }
}

/// A switch of the engine that only tests want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineOption {
    /// Limit of the code cache in KiB.
    CacheLimit(u32),
    /// Put everything at a random place.
    Shuffle,
    /// Never use a unit's preferred place.
    ForbidPreferred,
    /// Report every entry into translated code to the parent, who traces us.
    Lockstep,
    /// Translate at the end what the program did not execute, too: `ppin warm`.
    Explore,
}

impl std::str::FromStr for EngineOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "shuffle" => Ok(Self::Shuffle),
            None if text == "forbid-preferred" => Ok(Self::ForbidPreferred),
            None if text == "lockstep" => Ok(Self::Lockstep),
            None if text == "explore" => Ok(Self::Explore),
            Some(("cache-limit", size)) => kib(size).map(Self::CacheLimit),
            _ => Err(format!("no engine option {text}")),
        }
    }
}

/// A size with K, M or G behind it, in KiB.
fn kib(size: &str) -> Result<u32, String> {
    let unit = [("K", 1), ("M", 1 << 10), ("G", 1 << 20)];
    let split = unit
        .iter()
        .find_map(|(suffix, kib)| Some((size.strip_suffix(suffix)?, *kib)));
    let (number, kib) = split.ok_or("a size ends in K, M or G")?;
    let number: u32 = number
        .parse()
        .map_err(|_| format!("{number} is no number"))?;
    number
        .checked_mul(kib)
        .ok_or_else(|| format!("{size} is too large"))
}

/// `name=value`; values are checked by the tool itself.
fn knob(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.contains('\n') => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("a knob is NAME=VALUE, on one line".to_owned()),
    }
}

/// `ppin tool`.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// List the tools
    List {
        /// Format of the list
        #[arg(long, default_value = "human")]
        format: Format,
    },
    /// Explain a tool and its knobs
    Doc {
        /// Name of the tool
        name: String,
    },
}

/// `ppin gen`.
#[derive(Debug, Subcommand)]
pub enum Gen {
    /// Print the manual page of a verb, or of ppin itself
    Man {
        /// Verb
        verb: Option<String>,
    },
    /// Print completions for a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// The command line of this process; ends it if that is help, or wrong.
pub fn parse() -> Cli {
    let words = with_verb(std::env::args_os().collect());
    let runs = words.get(1).is_some_and(|verb| verb == "run");
    if let Some(cli) = words.get(1..).filter(|_| runs).and_then(quick_run) {
        return cli;
    }
    let wanted = early_color(&words);
    let command = Cli::command().color(wanted);
    let parsed = command
        .try_get_matches_from(words)
        .and_then(|found| Cli::from_arg_matches(&found));
    parsed.unwrap_or_else(|error| {
        let wrong = error.use_stderr();
        // A closed descriptor is no reason to fail differently.
        let _ = error.print();
        std::process::exit(match (wrong, runs) {
            (false, _) => 0,
            (true, true) => i32::from(FAILED),
            (true, false) => i32::from(USAGE),
        })
    })
}

/// `ppin run` understood without the definitions of all other verbs, which cost more
/// than everything else before the exec. What is not understood, or is a call for
/// help, is left to the whole parser.
fn quick_run(words: &[OsString]) -> Option<Cli> {
    let command = Global::augment_args(Run::augment_args(clap::Command::new("run")));
    let found = command
        .disable_help_flag(true)
        .try_get_matches_from(words)
        .ok()?;
    let global = Global::from_arg_matches(&found).ok()?;
    let verb = Verb::Run(Run::from_arg_matches(&found).ok()?);
    Some(Cli { global, verb })
}

/// Puts `run` before options that are not ppin's own: the habit of Pin users.
fn with_verb(mut words: Vec<OsString>) -> Vec<OsString> {
    const OWN: [&str; 6] = ["-h", "--help", "-V", "--version", "--color", "--"];
    let first = words.get(1).map(|word| word.to_string_lossy().into_owned());
    if let Some(first) = first {
        let option = first.starts_with('-') && first.len() > 1;
        if option && !OWN.contains(&&*first) && !first.starts_with("--color=") {
            words.insert(1, "run".into());
        }
    }
    words
}

/// The colour choice as far as help and error texts need it, which are made before
/// the command line is understood.
fn early_color(words: &[OsString]) -> clap::ColorChoice {
    let ours = words.iter().take_while(|word| *word != "--");
    let given = ours.filter_map(|word| word.to_str()?.strip_prefix("--color="));
    match given.last() {
        Some("never") => clap::ColorChoice::Never,
        Some("always") => clap::ColorChoice::Always,
        _ => clap::ColorChoice::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn run(text: &str) -> Run {
        let cli = Cli::try_parse_from(with_verb(words(text))).unwrap_or_else(|e| panic!("{e}"));
        match cli.verb {
            Verb::Run(run) => run,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_program_keeps_its_own_options() {
        let run = run("ppin run -t bbcount ls -t --stats");
        assert_eq!(
            (run.tool.as_str(), run.command),
            ("bbcount", words("ls -t --stats"))
        );
        assert_eq!(run.stats, None);
    }

    #[test]
    fn the_quick_way_understands_what_the_whole_parser_does() {
        for text in [
            "run -t icount --knob a=b --db x --db y --stats=f -o r --no-follow true -x -h",
            "run --color never --format json --stats -- true",
            "run --check=sample:9 --stats -- true",
        ] {
            let quick = quick_run(&words(text)).unwrap();
            let whole = Cli::try_parse_from(words(&format!("ppin {text}"))).unwrap();
            assert_eq!(format!("{quick:?}"), format!("{whole:?}"));
        }
        for text in ["run --help", "run -h", "run", "run --unknown -- true"] {
            assert!(quick_run(&words(text)).is_none(), "{text}");
        }
    }

    #[test]
    fn an_unknown_option_is_not_taken_for_the_program() {
        assert!(Cli::try_parse_from(words("ppin run --unknown -- true")).is_err());
    }

    #[test]
    fn the_verb_may_be_left_out_before_options() {
        assert_eq!(run("ppin -t icount -- true").tool, "icount");
        assert_eq!(with_verb(words("ppin --version")), words("ppin --version"));
        assert_eq!(with_verb(words("ppin tool list")), words("ppin tool list"));
    }

    #[test]
    fn statistics_take_a_file_only_behind_an_equals_sign() {
        assert_eq!(run("ppin run --stats -- true").stats, Some(None));
        assert_eq!(
            run("ppin run --stats=f -- true").stats,
            Some(Some("f".into()))
        );
    }

    #[test]
    fn engine_options_are_read() {
        let run = run("ppin run --engine-option cache-limit=1M --engine-option shuffle -- true");
        assert_eq!(
            run.engine_option,
            [EngineOption::CacheLimit(1024), EngineOption::Shuffle]
        );
        assert!("cache-limit=9999G".parse::<EngineOption>().is_err());
        assert!("cache-limit".parse::<EngineOption>().is_err());
    }

    #[test]
    fn knobs_have_a_name_and_a_value() {
        assert_eq!(knob("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(knob("=b").is_err() && knob("a").is_err() && knob("a=b\nc").is_err());
    }
}
