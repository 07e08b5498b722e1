//! Options of `ppin run`.

use super::{Check, Settings};
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
    /// Compare with single-stepping. Alone, the whole of a short program is, instruction
    /// by instruction (status 0: the same, 1: not); with `=sample[:N]`, the program runs as
    /// ever, and short stretches of it are, at one in N branches to computed addresses
    /// [without N: as many as make it some four times slower] (status 125: not the same)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true,
          default_missing_value = "lockstep")]
    pub check: Option<Check>,
    /// Program and arguments
    #[arg(value_name = "PROG", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}
