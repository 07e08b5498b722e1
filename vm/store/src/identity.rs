//! Identities of image files: see [`ppin_persist::identity`].

use ppin_os::c;
use ppin_os::file::{File, Stat};
use ppin_persist::identity;

/// Identity of the file that is at `path` now.
#[must_use]
pub fn of_path(path: &str) -> Option<[u8; 32]> {
    let file = File::open(path, c::O_RDONLY | c::O_NONBLOCK, 0).ok()?;
    let stat = file.stat().ok()?;
    of_open(&file, &stat)
}

/// Identity of the file at `path`, if its state is still `stat`.
#[must_use]
pub fn of_file(path: &str, stat: &Stat) -> Option<[u8; 32]> {
    let file = File::open(path, c::O_RDONLY | c::O_NONBLOCK, 0).ok()?;
    (file.stat().ok()? == *stat)
        .then(|| of_open(&file, stat))
        .flatten()
}

fn of_open(file: &File, stat: &Stat) -> Option<[u8; 32]> {
    identity::of(stat.size, |at, to| {
        (file.read_at(to, at).ok()? == to.len()).then_some(())
    })
}
