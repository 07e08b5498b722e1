//! How a program runs under ppin: options of `ppin run` and `ppin attach`.

use super::{Cache, Check, EngineOption, Format, optimize};
use clap::Args;
use ppin_abi::optimize::Optimize;
use std::path::PathBuf;

/// How a program runs under ppin.
#[derive(Debug, Args)]
pub struct Settings {
    /// Tool to run: a bundled one (see `ppin tool list`), or the path of an object, with a slash in
    /// it; given again, one more tool. Without any, the program just runs translated
    #[arg(short, long, value_name = "NAME|PATH")]
    pub tool: Vec<String>,
    /// Set a knob of a tool (see `ppin tool doc`). With several tools TOOL:NAME=VALUE says which is
    /// meant, by its name or its number from 1 on
    #[arg(long, value_name = "[TOOL:]NAME=VALUE", value_parser = knob)]
    pub knob: Vec<(String, String)>,
    /// Mechanisms of the compiler
    #[arg(long, value_name = "LIST", require_equals = true, default_value = "all",
          value_parser = optimize::list, help = optimize::help())]
    pub optimize: Optimize,
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
    /// Run the programs that it executes without instrumentation
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

#[cfg(test)]
mod tests {
    use super::knob;

    #[test]
    fn knobs_have_a_name_and_a_value() {
        assert_eq!(knob("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(knob("=b").is_err() && knob("a").is_err() && knob("a=b\nc").is_err());
    }
}
