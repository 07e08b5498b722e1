//! Which file is meant, and whether it may be instrumented.

use crate::kernel::{self, Status};
use crate::path::Path;
use crate::stack::Stack;
use core::ffi::CStr;
use ppin_abi::elf::{CLASS_64, DYN, EXEC, HEADER, Header, X86_64};

/// Where programs are sought when PATH is not set.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// Bits of a file's mode with which it may run as another user or group.
const SETS_ID: u32 = 0o6000;
const ROOT: u32 = 0;

/// The file to execute for `name`, as `execvp` finds it, and its status. `None`: there is none, or it
/// is no ELF file that gains nothing by being executed.
pub(crate) fn find(stack: &Stack, name: &CStr) -> Option<(Path, Status)> {
    let name = name.to_bytes();
    let (path, status) = if name.contains(&b'/') {
        executable(Path::of(&[name])?)?
    } else {
        let along = stack.variable(b"PATH").map_or(DEFAULT_PATH, CStr::to_bytes);
        along
            .split(|byte| *byte == b':')
            .find_map(|folder| executable(within(folder, name)?))?
    };
    (is_program(&path) && gains_nothing(&path, status)).then_some((path, status))
}

/// An empty folder is the current one.
fn within(folder: &[u8], name: &[u8]) -> Option<Path> {
    match folder {
        b"" => Path::of(&[name]),
        _ => Path::of(&[folder, b"/", name]),
    }
}

/// `path` with the status of what may be executed there.
fn executable(path: Path) -> Option<(Path, Status)> {
    let status = kernel::status(path.text(), true)?;
    (status.is_file() && kernel::may_execute(path.text())).then_some((path, status))
}

/// Whether it is an ELF file for this processor.
fn is_program(path: &Path) -> bool {
    let mut head = [0; HEADER];
    let whole = kernel::read_head(path.text(), &mut head) == Some(HEADER);
    let header = Header::read(&head).filter(|_| whole);
    header.is_some_and(|header| {
        let fits = (header.class, header.machine) == (CLASS_64, X86_64);
        fits && matches!(header.kind, EXEC | DYN)
    })
}

/// Whether the program gains no privilege, which it would lose when it is traced. Root gains
/// nothing from its own programs.
fn gains_nothing(path: &Path, status: Status) -> bool {
    let roots_own = status.owner == ROOT && kernel::effective_user() == ROOT;
    let sets_id = status.mode & SETS_ID != 0;
    !sets_id && (roots_own || !ppin_inject::sys::has_capabilities(path.text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::tests::Made;
    use std::ffi::CString;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path as StdPath;

    fn found(name: &str, along: &str) -> Option<String> {
        let variable = format!("PATH={along}");
        let made = Made::new(&["ppin"], &[&variable]);
        let name = CString::new(name).unwrap();
        let (path, _) = find(&made.stack(), &name)?;
        Some(path.text().to_str().unwrap().to_owned())
    }

    fn put(folder: &StdPath, name: &str, contents: &[u8], mode: u32) -> String {
        let path = folder.join(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn program() -> Vec<u8> {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        own[..HEADER].to_vec()
    }

    #[test]
    fn the_first_executable_file_along_the_path_is_taken() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(one.path(), "a", &program(), 0o644);
        fs::create_dir(one.path().join("b")).unwrap();
        let paths = ["a", "b"].map(|name| put(two.path(), name, &program(), 0o755));
        let folder = |folder: &tempfile::TempDir| folder.path().to_str().unwrap().to_owned();
        let along = format!("/nonexistent:{}:{}", folder(&one), folder(&two));
        assert_eq!(found("a", &along).as_ref(), Some(&paths[0]));
        assert_eq!(found("b", &along).as_ref(), Some(&paths[1]));
        assert_eq!(found("c", &along), None);
        assert_eq!(found(&paths[0], ""), Some(paths[0].clone()));
    }

    #[test]
    fn scripts_and_what_gains_privileges_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for (name, contents, mode) in [
            ("script", b"#!/bin/sh\n".to_vec(), 0o755),
            ("short", program()[..40].to_vec(), 0o755),
            ("setuid", program(), 0o4755),
            ("setgid", program(), 0o2755),
            ("locked", program(), 0o644),
        ] {
            let path = put(folder.path(), name, &contents, mode);
            assert_eq!(found(&path, ""), None, "{name}");
        }
        let mut foreign = program();
        foreign[18] = 3;
        assert_eq!(
            found(&put(folder.path(), "i386", &foreign, 0o755), ""),
            None
        );
    }
}
