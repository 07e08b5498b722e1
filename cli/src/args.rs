//! The command line: verbs with their options, and how it is read.

use crate::failure::{FAILED, USAGE};
use crate::options::{Gen, Global, Run, Tool};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;

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
    /// Bring a program that runs already under ppin
    Attach(crate::verb::attach::Attach),
    /// Let a program that runs under ppin go on natively
    Detach(crate::verb::detach::Detach),
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
    use crate::options::EngineOption;

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
            (run.settings.tool, run.command),
            (vec!["bbcount".into()], words("ls -t --stats"))
        );
        assert_eq!(run.settings.stats, None);
    }

    #[test]
    fn the_quick_way_understands_what_the_whole_parser_does() {
        for text in [
            "run -t icount -t a/b --knob a=b --db x --db y --stats=f -o r --no-follow true -x -h",
            "run --color never --format json --stats -- true",
            "run --check=sample:9 --stats -- true",
            "run --optimize=-counters -- true",
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
        assert_eq!(
            run("ppin -t icount -t ./x -- true").settings.tool,
            ["icount", "./x"]
        );
        assert_eq!(with_verb(words("ppin --version")), words("ppin --version"));
        assert_eq!(with_verb(words("ppin tool list")), words("ppin tool list"));
    }

    #[test]
    fn statistics_take_a_file_only_behind_an_equals_sign() {
        assert_eq!(run("ppin run --stats -- true").settings.stats, Some(None));
        assert_eq!(
            run("ppin run --stats=f -- true").settings.stats,
            Some(Some("f".into()))
        );
    }

    #[test]
    fn engine_options_may_be_given_together() {
        let run = run("ppin run --engine-option cache-limit=1M --engine-option shuffle -- true");
        assert_eq!(
            run.settings.engine_option,
            [EngineOption::CacheLimit(1024), EngineOption::Shuffle]
        );
    }
}
