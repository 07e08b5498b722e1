//! Options of `ppin db`.

use crate::options::Format;
use crate::size::bytes;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `ppin db`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: 0 yes or done, 1 no or damage found, 2 wrong use.")]
pub struct Db {
    /// Database directory [default: $PPIN_DB, else $XDG_CACHE_HOME/ppin, else ~/.cache/ppin]
    #[arg(long, value_name = "DIR", global = true)]
    pub db: Option<PathBuf>,
    /// What to do with it
    #[command(subcommand)]
    pub action: Action,
}

/// Actions.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print where the database is
    Path,
    /// List the images that it holds code of
    List {
        /// List the unit files of each image, too
        #[arg(long)]
        units: bool,
        /// Format of the list
        #[arg(long, default_value = "human")]
        format: Format,
    },
    /// Print how much it holds
    Stat {
        /// Format of the figures
        #[arg(long, default_value = "human")]
        format: Format,
    },
    /// Verify every byte of it
    Verify {
        /// Translate every trace again, too, and compare
        #[arg(long)]
        recompile: bool,
        /// Format of the findings
        #[arg(long, default_value = "human")]
        format: Format,
    },
    /// Merge units, remove what is damaged or abandoned
    Gc(Gc),
    /// Remove code
    Rm {
        /// Which
        #[command(flatten)]
        which: Which,
        /// Format of the answer
        #[arg(long, default_value = "human")]
        format: Format,
    },
    /// Write units into one file, to carry them elsewhere
    Export {
        /// File to write, - for standard output
        file: PathBuf,
        /// Which units; all if none are named
        #[command(flatten)]
        which: Which,
    },
    /// Add the units of an exported file
    Import {
        /// File to read, - for standard input
        file: PathBuf,
    },
}

/// A choice of units.
#[derive(Debug, Args, Default)]
pub struct Which {
    /// Images: paths, or beginnings of their identities
    #[arg(value_name = "IMAGE", conflicts_with_all = ["all", "key"])]
    pub images: Vec<String>,
    /// Everything made under keys (builds of ppin, tools) whose directory begins so
    #[arg(long, value_name = "DIGITS")]
    pub key: Option<String>,
    /// Everything
    #[arg(long, conflicts_with = "key")]
    pub all: bool,
}

/// `ppin db gc`.
#[derive(Debug, Args)]
pub struct Gc {
    /// If there is more, remove the images used longest ago until this much is left (as in
    /// 500M) [default: $PPIN_MAX_SIZE, else 2G]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_size: Option<u64>,
    /// Keep code of images whose file is gone or has other contents now
    #[arg(long)]
    pub keep_dead: bool,
    /// Do not merge the units of each image
    #[arg(long)]
    pub no_merge: bool,
    /// Keep units that are damaged
    #[arg(long)]
    pub keep_damaged: bool,
    /// Format of the answer
    #[arg(long, default_value = "human")]
    pub format: Format,
}
