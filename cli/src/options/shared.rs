//! Options that several verbs have.

use clap::{Args, ValueEnum};

/// What holds for all verbs.
#[derive(Debug, Args)]
pub struct Global {
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Human,
    /// For programs
    Json,
}

/// How the database is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cache {
    /// Read what is there, add what is new
    Rw,
    /// Read only
    Ro,
    /// Neither
    Off,
}
