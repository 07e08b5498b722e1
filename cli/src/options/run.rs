//! Options of `ppin run`.

use super::Settings;
use clap::Args;
use std::ffi::OsString;

/// `ppin run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: that of the program (it dies by the same signal, too); 125 if ppin itself \
fails, 126 if the program cannot be executed or instrumented, 127 if it is not found.")]
pub struct Run {
    /// How it runs
    #[command(flatten)]
    pub settings: Settings,
    /// Program and arguments
    #[arg(value_name = "PROG", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}
