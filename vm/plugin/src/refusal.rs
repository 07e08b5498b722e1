//! Why a file is not loaded as a tool.

use core::fmt;

/// The reason, as the end of a sentence that names the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Not an ELF file for this machine.
    NotAnObject,
    /// An executable at a fixed address, an object file, a core.
    NotShared,
    /// The file ends before what its headers name.
    Torn,
    /// Larger than [`crate::MAX_FILE`], in the file or in memory.
    TooLarge,
    /// Headers that contradict each other.
    Malformed(&'static str),
    /// It needs another library, or a symbol of one.
    Imports,
    /// It asks for something of the loader that ppin does not do.
    Unsupported(&'static str),
    /// There is no door at its entry.
    NoDoor,
    /// Its door has this version.
    Version(u32),
    /// It was built with other opcodes.
    Opcodes,
    /// What its door says of the tool is not text, or is not well formed.
    Card(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::NotAnObject => "it is not an ELF object for x86-64",
            Self::NotShared => "it is not a shared object",
            Self::Torn => "it is shorter than its headers say",
            Self::TooLarge => "it is too large for a tool",
            Self::Malformed(what) => return write!(f, "it is malformed: {what}"),
            Self::Imports => "it needs other libraries, which a tool must not",
            Self::Unsupported(what) => return write!(f, "{what} in a tool are not supported"),
            Self::NoDoor => {
                "it is not a tool of ppin (was it built with ppin_sdk::tool! and the link arguments of `ppin tool new`?)"
            }
            Self::Version(theirs) => {
                let ours = crate::door::VERSION;
                return write!(
                    f,
                    "it was built for version {theirs} of the tool interface, and this ppin has \
                     version {ours}: build it again"
                );
            }
            Self::Opcodes => {
                "it was built with another list of opcodes than this ppin's: build it again"
            }
            Self::Card(what) => return write!(f, "its description is malformed: {what}"),
        };
        f.write_str(words)
    }
}

impl core::error::Error for Refusal {}
