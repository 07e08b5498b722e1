//! Which database is meant, and whether it may be used.

use crate::kernel;
use crate::path::Path;
use crate::stack::Stack;
use core::ffi::CStr;
use ppin_persist::paths::default_database;
use ppin_persist::trust::{Kind, judge};

/// The database `named`, or else the user's own. `None`: it is not there yet, or may not be used,
/// or is named in a way that must be understood first.
pub(crate) fn find(stack: &Stack, named: Option<&CStr>) -> Option<Path> {
    let path = match named {
        Some(path) => Path::absolute(path),
        None => Path::of(&default_database(|name| {
            stack.variable(name).map(CStr::to_bytes)
        })?),
    };
    path.filter(|path| path.is_plain() && is_text(path.bytes()) && is_sound(path))
}

/// Whether the path is text that stands for one folder.
fn is_text(path: &[u8]) -> bool {
    core::str::from_utf8(path).is_ok_and(|text| !text.contains([':', '\n']))
}

fn is_sound(path: &Path) -> bool {
    let status = kernel::status(path.text(), false);
    status.is_some_and(|found| {
        let user = kernel::effective_user();
        judge(Kind::Folder, found.mode, found.owner, user).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::tests::Made;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn paths_that_need_thought_are_left_alone() {
        let is_plain = |path: &[u8]| {
            let whole = Path::of(&[path]).unwrap();
            whole.is_plain() && is_text(path)
        };
        assert!(is_plain(b"/a") && is_plain(b"/a/b.c/..d"));
        for path in [
            &b""[..],
            b"/",
            b"a",
            b"./a",
            b"/a/",
            b"/a//b",
            b"/a/../b",
            b"/./a",
            b"/a:b",
            b"/a\nb",
            b"/\xff",
        ] {
            assert!(!is_plain(path), "{path:?}");
        }
    }

    #[test]
    fn a_relative_path_is_sought_in_the_current_directory() {
        let here = std::env::current_dir().unwrap();
        let folder = tempfile::tempdir_in(&here).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        let name = std::ffi::CString::new(name).unwrap();
        let made = Made::new(&["ppin"], &[]);
        let found = find(&made.stack(), Some(&name)).unwrap();
        assert_eq!(
            found.text().to_str().unwrap(),
            folder.path().to_str().unwrap()
        );
    }

    #[test]
    fn a_sound_database_that_is_there_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let (home, base) = (folder.path().join("home"), folder.path().to_str().unwrap());
        let database = home.join(".cache/ppin");
        fs::create_dir_all(&database).unwrap();
        let set = |mode| fs::set_permissions(&database, Permissions::from_mode(mode)).unwrap();
        let variable = format!("HOME={base}/home");
        let found = || {
            let made = Made::new(&["ppin"], &[&variable]);
            find(&made.stack(), None).map(|path| path.text().to_str().unwrap().to_owned())
        };
        set(0o700);
        assert_eq!(found().as_deref(), database.to_str());
        set(0o722);
        assert_eq!(found(), None);
        fs::remove_dir(&database).unwrap();
        assert_eq!(found(), None);
    }
}
