//! Paired measurement of commands: each round runs every way of running a command once, so that a
//! disturbance hits all alike, and ratios are taken of medians.
//!
//! CPU time is what the kernel charges to the command and to all descendants that it
//! waited for; the launcher's helper is one of them.

pub mod curve;
pub mod measure;
pub mod table;
pub mod ways;

use clap::Parser;
use std::path::PathBuf;

/// Options of both benchmarks.
#[derive(Parser, Debug, Clone)]
pub struct Options {
    /// The ppin executable; by default the one beside this program.
    #[arg(long)]
    pub ppin: Option<PathBuf>,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 15)]
    pub rounds: usize,
    /// Only commands whose name contains this.
    #[arg(long)]
    pub only: Option<String>,
    /// By the number of the run: ten runs of each command from an empty database.
    #[arg(long)]
    pub curve: bool,
    /// Also measure other instrumentation systems that are installed.
    #[arg(long)]
    pub peers: bool,
    /// Only these ways (cold, warm, bbcount, icount, or a peer's name).
    #[arg(long, value_delimiter = ',')]
    pub ways: Vec<String>,
}

impl Options {
    /// Whether a command of this name is wanted.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.only
            .as_ref()
            .is_none_or(|part| name.contains(part.as_str()))
    }

    /// The executable under measurement.
    #[must_use]
    pub fn executable(&self) -> PathBuf {
        let beside = || {
            std::env::current_exe()
                .expect("own path")
                .with_file_name("ppin")
        };
        let path = self.ppin.clone().unwrap_or_else(beside);
        assert!(
            path.exists(),
            "{} is missing: cargo build --release -p ppin",
            path.display()
        );
        path
    }
}
