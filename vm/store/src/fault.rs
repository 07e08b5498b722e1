//! Why a folder or file is not used.

use core::fmt;
use ppin_os::Errno;
use ppin_persist::trust::Refusal;

/// Why a folder or file is not used.
#[derive(Debug)]
pub enum Fault {
    /// There is none.
    Missing,
    /// It must not be trusted.
    Refused(Refusal),
    /// The kernel's answer.
    System(Errno),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it is not there"),
            Self::Refused(why) => write!(f, "not trusted: {why}"),
            Self::System(e) => write!(f, "cannot be opened ({e})"),
        }
    }
}

impl From<Errno> for Fault {
    fn from(e: Errno) -> Self {
        match e {
            Errno::ENOENT => Self::Missing,
            Errno::ENXIO => Self::Refused(Refusal::NotAFile),
            Errno::ENOTDIR => Self::Refused(Refusal::NotADirectory),
            Errno::ELOOP => Self::Refused(Refusal::Symlink),
            _ => Self::System(e),
        }
    }
}
