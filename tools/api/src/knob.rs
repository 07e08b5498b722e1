//! Options of tools.

/// An option of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Knob {
    /// Name, given as `--knob NAME=VALUE`.
    pub name: &'static str,
    /// Value if not given, for the help text.
    pub default: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// Whether it changes what is inserted: such a knob is part of the identity of
    /// persisted code.
    pub changes_code: bool,
    /// Whether its value is the path of a file that the tool writes (`%p` stands for the
    /// process id). The command line makes the path absolute, makes sure before the program
    /// starts that the file can be written, and empties what an earlier run left.
    pub writes_file: bool,
}
