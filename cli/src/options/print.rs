//! Options of the verbs that print what ppin knows: `ppin tool` and `ppin gen`.

use super::Format;
use clap::Subcommand;
use std::path::PathBuf;

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
        /// Name of a bundled tool, or path of an object
        #[arg(value_name = "NAME|PATH")]
        name: String,
    },
    /// Begin a new tool: make a crate in a folder of this name
    New {
        /// Name of the tool
        name: String,
        /// Folder of the SDK, tools/sdk of ppin's sources [default: above the ppin executable]
        #[arg(long, value_name = "DIR")]
        sdk: Option<PathBuf>,
    },
    /// Print a binary file of memtrace as lines
    MemtracePrint {
        /// The file
        file: PathBuf,
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
