//! `ppin warm`: run a program so that its code is in the database.
//!
//! The program keeps its input, output and exit; the tool's report is dropped. At its end the
//! other sides of the branches that it has executed are translated, too, which ordinary runs
//! leave alone. What the run added is said on standard error.

use crate::database::path_of;
use crate::failure::{FAILED, Failure, NO, USAGE, YES, failed};
use crate::options::{Format, optimize};
use crate::text::count;
use crate::tools::Choice;
use clap::Args;
use ppin_abi::optimize::Optimize;
use ppin_cachedb::{Access, Database};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, SystemTime};

/// `ppin warm`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: 0 the program has run (whatever its own status), 1 it could not be run, \
2 wrong use.")]
pub struct Warm {
    /// Tool whose code is wanted: a bundled one (see `ppin tool list`), or the path of an object;
    /// given again, one more tool
    #[arg(short, long, value_name = "NAME|PATH")]
    pub tool: Vec<String>,
    /// Set a knob of a tool, as for `ppin run`
    #[arg(long, value_name = "[TOOL:]NAME=VALUE")]
    pub knob: Vec<String>,
    /// Mechanisms of the compiler
    #[arg(long, value_name = "LIST", require_equals = true, default_value = "all",
          value_parser = optimize::list, help = optimize::help())]
    pub optimize: Optimize,
    /// Database directory [default: $PPIN_DB, else $XDG_CACHE_HOME/ppin, else ~/.cache/ppin]
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// Bytes that the database may take (as in 500M) [default: $PPIN_MAX_SIZE, else 2G]
    #[arg(long, value_name = "SIZE", value_parser = crate::size::bytes)]
    pub max_size: Option<u64>,
    /// Run it this often: paths depend on addresses, which differ from run to run
    #[arg(long, value_name = "TIMES", default_value_t = 1)]
    pub runs: u32,
    /// Run the programs that PROG executes without instrumentation
    #[arg(long)]
    pub no_follow: bool,
    /// Format of the summary
    #[arg(long, default_value = "human")]
    pub format: Format,
    /// Program and arguments
    #[arg(
        value_name = "PROG",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// Data that earlier runs wrote may be in memory only for this long; the kernel writes it to the
/// disk after half a minute.
const RECENT: Duration = Duration::from_secs(120);

/// Runs it.
pub fn warm(args: &Warm) -> Result<u8, Failure> {
    Choice::new(&args.tool, &[]).map_err(|why| Failure::new(USAGE, why))?;
    let mut learnt = Learnt::default();
    let start = SystemTime::now();
    for _ in 0..args.runs.max(1) {
        learnt = run(args)?;
        let summary = match args.format {
            Format::Human => learnt.text(),
            Format::Json => learnt.json().to_string(),
        };
        eprintln!("{summary}");
    }
    let path = path_of(args.db.as_deref())?;
    let db = Database::open(&path, Access::ReadWrite).map_err(failed)?;
    db.sync(start - RECENT).map_err(failed)?;
    Ok(if learnt.processes == 0 { NO } else { YES })
}

fn run(args: &Warm) -> Result<Learnt, Failure> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let stats = folder.path().join("stats");
    let status = command(args, &stats)?.status().map_err(failed)?;
    let lines = fs::read_to_string(&stats).unwrap_or_default();
    let mut learnt = Learnt::default();
    lines.lines().for_each(|line| learnt.add(line));
    // Our own failure has been said by the child.
    if learnt.processes == 0 && status.code().is_none_or(|code| code >= i32::from(FAILED)) {
        return Err(failed(format!("nothing was learnt: {}", ended(status))));
    }
    learnt.ended = ended(status);
    Ok(learnt)
}

fn command(args: &Warm, stats: &std::path::Path) -> Result<Command, Failure> {
    let mut option = OsString::from("--stats=");
    option.push(stats);
    let mut command = Command::new("/proc/self/exe");
    command.args(["run", "--engine-option", "explore", "-o", "/dev/null"]);
    command.arg(format!("--optimize={}", args.optimize));
    for tool in &args.tool {
        command.args(["-t", tool]);
    }
    command.arg("--db");
    command.arg(path_of(args.db.as_deref())?).arg(option);
    if let Some(size) = args.max_size {
        command.args(["--max-size", &size.to_string()]);
    }
    for knob in &args.knob {
        command.args(["--knob", knob]);
    }
    if args.no_follow {
        command.arg("--no-follow");
    }
    command.arg("--").args(&args.command);
    Ok(command)
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => String::new(),
        (Some(code), _) => format!("the program ended with status {code}"),
        (None, signal) => format!("the program was killed by signal {}", signal.unwrap_or(0)),
    }
}

/// Sums over the statistics of all processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Learnt {
    processes: u64,
    new: u64,
    reused: u64,
    explored: u64,
    bytes: u64,
    reasons: Vec<String>,
    ended: String,
}

impl Learnt {
    /// Adds a line of statistics; a cut one is left out.
    fn add(&mut self, line: &str) {
        let Ok(stats) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let number = |key: &str| stats[key].as_u64().unwrap_or(0);
        self.processes += 1;
        self.new += number("traces_compiled");
        self.reused += number("traces_reused");
        self.explored += number("traces_anticipated");
        self.bytes += number("code_bytes_new");
        let reasons = stats["cache"]["reject_reasons"].as_array();
        for reason in reasons.into_iter().flatten().filter_map(Value::as_str) {
            if !self.reasons.iter().any(|known| known == reason) {
                self.reasons.push(reason.to_owned());
            }
        }
    }

    fn text(&self) -> String {
        let plural = if self.processes == 1 { "" } else { "es" };
        let mut text = format!(
            "ppin: {} process{plural}, {} new, {} explored, {} reused",
            self.processes,
            count(self.new, "trace"),
            self.explored,
            self.reused
        );
        for remark in self
            .reasons
            .iter()
            .chain([&self.ended])
            .filter(|text| !text.is_empty())
        {
            text += &format!("\nppin: {remark}");
        }
        text
    }

    fn json(&self) -> Value {
        json!({
            "processes": self.processes,
            "traces_new": self.new,
            "traces_explored": self.explored,
            "traces_reused": self.reused,
            "code_bytes_new": self.bytes,
            "reasons": self.reasons,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_summed() {
        let mut learnt = Learnt::default();
        let line = r#"{"traces_compiled":3,"traces_reused":4,"code_bytes_new":5,"cache":{"reject_reasons":["why"]}}"#;
        learnt.add(line);
        learnt.add(line);
        learnt.add("{cut");
        assert_eq!(
            learnt.text(),
            "ppin: 2 processes, 6 traces new, 0 explored, 8 reused\nppin: why"
        );
    }
}
