//! Whether translated code can be kept, and used again.

use super::finding::Finding;
use crate::text::size;
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, access};
use ppin_cachedb::{Access, Database};
use std::path::Path;

const WHAT: &str = "database";
/// Room below which it is worth a word.
const LITTLE: u64 = 64 << 20;

/// Looks at the directory, and at the file system below it.
pub fn database(path: &Path) -> Vec<Finding> {
    let Some(existing) = path.ancestors().find(|dir| dir.exists()) else {
        return vec![Finding::bad(
            WHAT,
            format!("{} cannot be looked at", path.display()),
        )];
    };
    vec![
        directory(path, existing),
        space(existing),
        executable(existing),
    ]
}

fn directory(path: &Path, existing: &Path) -> Finding {
    let name = path.display();
    let writable = access(existing, AccessFlags::W_OK).is_ok();
    if existing != path {
        return match writable {
            true => Finding::good(WHAT, format!("{name} will be created")),
            false => Finding::bad(WHAT, format!("{name} cannot be created: nothing is kept")),
        };
    }
    match Database::open(path, Access::ReadOnly) {
        Err(error) => Finding::bad(WHAT, format!("{error}: programs run without it")),
        Ok(_) if writable => Finding::good(WHAT, format!("{name}")),
        Ok(_) => Finding::bad(
            WHAT,
            format!("{name} cannot be written to: it is read only"),
        ),
    }
}

fn space(existing: &Path) -> Finding {
    const WHAT: &str = "space";
    match statvfs(existing) {
        Err(error) => Finding::bad(WHAT, format!("{}: {error}", existing.display())),
        Ok(fs) => {
            let free = fs.blocks_available() * fs.fragment_size();
            match free < LITTLE {
                true => Finding::bad(
                    WHAT,
                    format!("{} free: new code may not be kept", size(free)),
                ),
                false => Finding::good(WHAT, format!("{} free", size(free))),
            }
        }
    }
}

fn executable(existing: &Path) -> Finding {
    const WHAT: &str = "noexec";
    match statvfs(existing) {
        Ok(fs) if fs.flags().contains(FsFlags::ST_NOEXEC) => Finding::bad(
            WHAT,
            "the database lies on a file system mounted noexec: its code is not used, every run translates",
        ),
        _ => Finding::good(WHAT, "kept code may be executed where it lies"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_database_that_others_may_write_to_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        assert!(database(&path)[0].text.contains("will be created"));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let finding = &database(&path)[0];
        assert!(
            !finding.good && finding.text.contains("others may write"),
            "{finding:?}"
        );
    }
}
