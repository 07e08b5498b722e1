//! Which folders and files of a database may be used: the user's own and root's, if no other user
//! may write to them. The runtime and the verbs ask here.
//!
//! Each folder from the database down is judged before what lies in it, and none is
//! reached by a symbolic link. In a folder that was found sound, nobody else can exchange
//! an entry between the judgement and its use.

use core::fmt;

/// Kind of file that a path should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A directory.
    Folder,
    /// A regular file.
    File,
}

/// Why a file or directory is not trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The path is a symbolic link.
    Symlink,
    /// The path is not a directory.
    NotADirectory,
    /// The path is not a regular file.
    NotAFile,
    /// The file belongs to this other user.
    Owner(u32),
    /// Others may write to it: its mode.
    Writable(u32),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symlink => f.write_str("it is a symbolic link"),
            Self::NotADirectory => f.write_str("it is not a directory"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::Owner(uid) => write!(f, "it belongs to user {uid}"),
            Self::Writable(mode) => write!(f, "others may write to it (mode {mode:03o})"),
        }
    }
}

/// File type in `st_mode` (inode(7)).
const TYPE: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
/// Group or others may write. The permissions of an access control list show here, too.
const WRITABLE: u32 = 0o022;
const ROOT: u32 = 0;

/// Judges what `stat` says: `mode` with the file type, and the owner. `user` is the
/// effective user id of the process.
///
/// # Errors
/// Why it must not be used.
pub const fn judge(kind: Kind, mode: u32, owner: u32, user: u32) -> Result<(), Refusal> {
    match (mode & TYPE, kind) {
        (DIRECTORY, Kind::Folder) | (REGULAR, Kind::File) => {}
        (SYMLINK, _) => return Err(Refusal::Symlink),
        (_, Kind::Folder) => return Err(Refusal::NotADirectory),
        (_, Kind::File) => return Err(Refusal::NotAFile),
    }
    // Root's files are trusted as its kernel is: images ship databases as root's.
    if owner != user && owner != ROOT {
        return Err(Refusal::Owner(owner));
    }
    if mode & WRITABLE != 0 {
        return Err(Refusal::Writable(mode & 0o7777));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_and_roots_are_used() {
        for owner in [1000, 0] {
            assert_eq!(judge(Kind::Folder, 0o040_755, owner, 1000), Ok(()));
            assert_eq!(judge(Kind::File, 0o100_644, owner, 1000), Ok(()));
        }
    }

    #[test]
    fn others_are_not_even_for_root() {
        for user in [1000, 0] {
            let verdict = judge(Kind::File, 0o100_600, 1001, user);
            assert_eq!(verdict, Err(Refusal::Owner(1001)));
        }
    }

    #[test]
    fn what_others_may_write_to_is_refused() {
        for mode in [0o020, 0o002, 0o777, 0o1777] {
            let folder = judge(Kind::Folder, 0o040_000 | mode, 0, 0);
            assert_eq!(folder, Err(Refusal::Writable(mode)));
            let file = judge(Kind::File, 0o100_000 | mode, 0, 0);
            assert_eq!(file, Err(Refusal::Writable(mode)));
        }
    }

    #[test]
    fn other_types_are_refused() {
        let file = |mode| judge(Kind::File, mode | 0o600, 0, 0);
        let folder = |mode| judge(Kind::Folder, mode | 0o600, 0, 0);
        for kind in [0o010_000, 0o020_000, 0o060_000, 0o140_000] {
            assert_eq!(file(kind), Err(Refusal::NotAFile));
            assert_eq!(folder(kind), Err(Refusal::NotADirectory));
        }
        assert_eq!(file(DIRECTORY), Err(Refusal::NotAFile));
        assert_eq!(folder(REGULAR), Err(Refusal::NotADirectory));
        assert_eq!(file(SYMLINK), Err(Refusal::Symlink));
        assert_eq!(folder(SYMLINK), Err(Refusal::Symlink));
    }
}
