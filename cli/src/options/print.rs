//! Options of the verbs that print what ppin knows: `ppin tool` and `ppin gen`.

use super::Format;
use clap::Subcommand;

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
    /// Print a binary file of memtrace as lines
    MemtracePrint {
        /// The file
        file: std::path::PathBuf,
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
