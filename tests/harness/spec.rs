//! The header of a guest program: `//@ key: value` lines that say how to build it,
//! how to call it and what it does natively.
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `variants` | ways of linking: `pie nopie static static-pie musl nostdlib` | `pie` |
//! | `cflags`, `libs` | more words for the compiler, before and after the file | none |
//! | `needs` | CPU features (names of /proc/cpuinfo), all of them | none |
//! | `run` | `ARGS => exit N` or `ARGS => signal NAME`; may be repeated | ` => exit 0` |
//! | `timeout` | seconds for one run | 30 |
//! | `pending` | why ppin does not run it rightly yet; it is then skipped, visibly | |
//! | `instructions`, `blocks` | exact counts, known by construction | unknown |

use std::fs;
use std::path::Path;

/// How a run must end, natively and under ppin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Exit status.
    Exit(i32),
    /// Death by this signal, named without `SIG`.
    Signal(String),
}

/// One call of a guest.
#[derive(Clone, Debug)]
pub struct Run {
    /// Arguments after the program's name.
    pub args: Vec<String>,
    /// What must come of it.
    pub end: End,
}

/// All that a guest's header says.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Ways of linking.
    pub variants: Vec<String>,
    /// Compiler words before the source file.
    pub cflags: Vec<String>,
    /// Compiler words after the source file.
    pub libs: Vec<String>,
    /// CPU features without which the guest cannot run.
    pub needs: Vec<String>,
    /// Calls, in order.
    pub runs: Vec<Run>,
    /// Seconds that one run may take.
    pub timeout: u64,
    /// Why ppin does not run it rightly yet.
    pub pending: Option<String>,
    /// Instructions that it completes, where that is known by construction.
    pub instructions: Option<u64>,
    /// Blocks that it enters, likewise.
    pub blocks: Option<u64>,
}

impl Spec {
    /// Reads the header lines of a source file.
    pub fn parse(source: &str) -> Spec {
        let mut spec = Spec {
            variants: vec!["pie".to_owned()],
            cflags: Vec::new(),
            libs: Vec::new(),
            needs: Vec::new(),
            runs: Vec::new(),
            timeout: 30,
            pending: None,
            instructions: None,
            blocks: None,
        };
        for line in source
            .lines()
            .filter_map(|line| line.trim().strip_prefix("//@ "))
        {
            let (key, value) = line.split_once(':').expect("//@ key: value");
            spec.set(key.trim(), value.trim());
        }
        if spec.runs.is_empty() {
            spec.runs.push(Run {
                args: Vec::new(),
                end: End::Exit(0),
            });
        }
        spec
    }

    fn set(&mut self, key: &str, value: &str) {
        let words = || value.split_whitespace().map(str::to_owned).collect();
        match key {
            "variants" => self.variants = words(),
            "cflags" => self.cflags = words(),
            "libs" => self.libs = words(),
            "needs" => self.needs = words(),
            "timeout" => self.timeout = value.parse().expect("seconds"),
            "pending" => self.pending = Some(value.to_owned()),
            "instructions" => self.instructions = Some(value.parse().expect("a count")),
            "blocks" => self.blocks = Some(value.parse().expect("a count")),
            "run" => self.runs.push(parse_run(value)),
            _ => panic!("unknown guest header key {key:?}"),
        }
    }
}

fn parse_run(value: &str) -> Run {
    let (args, end) = value.rsplit_once("=>").expect("ARGS => END");
    let end = match end.trim().split_once(' ') {
        Some(("exit", code)) => End::Exit(code.parse().expect("exit status")),
        Some(("signal", name)) => End::Signal(name.to_owned()),
        _ => panic!("unknown end {end:?}"),
    };
    Run {
        args: args.split_whitespace().map(str::to_owned).collect(),
        end,
    }
}

/// Whether a file of this extension is a guest (others are headers and data).
pub fn is_guest(extension: &str) -> bool {
    matches!(extension, "c" | "cc" | "S")
}

/// Names in a folder, sorted.
pub fn sorted_dir(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .unwrap()
                .file_name()
                .into_string()
                .expect("UTF-8 name")
        })
        .collect();
    names.sort();
    names
}
