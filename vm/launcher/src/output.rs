//! The files of the report (`-o`) and of the statistics (`--stats`): made before the program starts,
//! as the whole of `ppin run` does it.

use crate::kernel::{self, Status};
use crate::path::Path;
use core::ffi::CStr;

/// The names of open descriptors, which are not opened again.
const DESCRIPTORS: [&[u8]; 4] = [
    b"/dev/std",
    b"/dev/fd/",
    b"/proc/self/",
    b"/proc/thread-self/",
];

/// The file `named`, as the runtime is to open it; the empty path if there is none. `None`: its name
/// must be understood first, or what is there is no file that can just be written to.
pub(crate) fn find(named: Option<&CStr>) -> Option<Path> {
    let Some(named) = named else {
        return Path::of(&[]);
    };
    let path = Path::absolute(named)?;
    let name = path.bytes();
    let descriptor = DESCRIPTORS.iter().any(|start| name.starts_with(start));
    // (`%p` stands for the process id.)
    let plain = path.is_plain() && !descriptor && !name.contains(&b'%');
    (plain && kernel::status(path.text(), true).is_none_or(may_be_opened)).then_some(path)
}

/// Whether opening and closing it is noticed by nobody, and the program's own output does not go
/// there.
fn may_be_opened(found: Status) -> bool {
    let is_open = || {
        [1, 2]
            .iter()
            .any(|fd| kernel::status_of(*fd) == Some(found))
    };
    !(found.is_pipe() || found.is_file() && is_open())
}

/// What becomes of what an earlier run left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    Goes,
    Stays,
}

/// Makes the file, if there is to be one.
pub(crate) fn open(path: &Path, left: Left) -> Option<()> {
    if path.bytes().is_empty() {
        return Some(());
    }
    kernel::make(path.text(), left == Left::Goes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    fn found(path: &std::path::Path) -> Option<Path> {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        find(Some(&name))
    }

    #[test]
    fn what_an_earlier_run_left_goes_if_it_is_to_go() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report");
        for left in [None, Some("old")] {
            if let Some(text) = left {
                fs::write(&file, text).unwrap();
            }
            let path = found(&file).unwrap();
            assert_eq!(file.exists(), left.is_some(), "nothing is done yet");
            assert_eq!(open(&path, Left::Stays), Some(()));
            assert_eq!(fs::read_to_string(&file).unwrap(), left.unwrap_or_default());
            assert_eq!(open(&path, Left::Goes), Some(()));
            assert_eq!(fs::read(&file).unwrap(), b"");
        }
        let none = Path::of(&[]).unwrap();
        assert_eq!(open(&none, Left::Goes), Some(()));
    }

    #[test]
    fn what_is_no_plain_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(found(&pipe).is_none());
        for name in [
            "/dev/stdout",
            "/dev/fd/1",
            "/proc/self/fd/2",
            "/tmp/%p",
            "/tmp/../x",
        ] {
            assert!(found(name.as_ref()).is_none(), "{name}");
        }
        assert!(found("/dev/null".as_ref()).is_some());
    }

    #[test]
    fn what_cannot_be_written_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_owned(), folder.path().join("none/x")] {
            assert_eq!(open(&found(&path).unwrap(), Left::Goes), None);
        }
    }
}
