//! Judging folders and files, and opening those that may be trusted.

use crate::fault::Fault;
use ppin_os::file::{self, Stat};
use ppin_os::{c, time};
use ppin_persist::trust::{Kind, judge};

/// A number that differs between processes, for unit names with the same sequence number.
#[must_use]
pub fn tag() -> u64 {
    let clock = time::monotonic_ns();
    clock.rotate_left(24) ^ (ppin_os::proc::pid() as u64) << 32
}

/// Whether a file or folder in the state `stat` may be used by `user`.
pub(crate) fn judged(kind: Kind, stat: &Stat, user: u32) -> Result<(), Fault> {
    judge(kind, stat.mode, stat.uid, user).map_err(Fault::Refused)
}

/// Opens a file for reading and judges it. Opening does not wait for pipes and devices.
pub(crate) fn open_file(dir: i32, path: &str, user: u32) -> Result<(file::File, Stat), Fault> {
    let flags = c::O_RDONLY | c::O_NOFOLLOW | c::O_NONBLOCK | c::O_NOCTTY;
    let file = file::File::open_at(dir, &file::c_path(path), flags)?;
    let stat = file.stat()?;
    judged(Kind::File, &stat, user)?;
    Ok((file, stat))
}
