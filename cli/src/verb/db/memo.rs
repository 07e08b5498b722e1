//! Which files are the images of units that came from elsewhere.
//!
//! A run looks units up by the hash of an image's contents and does not compute it at
//! start-up; it finds it in a memo (see `ppin_persist::memo`). A database that was
//! carried here has none, so they are written when it is imported.

use crate::source;
use ppin_cachedb::{Database, ImageEntry};
use ppin_persist::memo::StatId;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Writes a memo for every image whose file is here, unchanged; how many there are.
pub fn remember(db: &Database, images: &[ImageEntry]) -> u64 {
    let known = images
        .iter()
        .filter_map(|image| Some((image.path.as_deref()?, &image.image)));
    let written = known.filter(|(path, hash)| remember_one(db, path, hash).unwrap_or(false));
    written.count() as u64
}

fn remember_one(db: &Database, path: &Path, hash: &[u8; 32]) -> io::Result<bool> {
    let before = fs::metadata(path)?;
    let now = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |now| now.as_secs() as i64);
    let id = stat_id(&before);
    let same = before.is_file() && source::image(path, hash).is_ok();
    if !same || stat_id(&fs::metadata(path)?) != id || !id.settled(now) {
        return Ok(false);
    }
    Ok(db.remember(&id, hash).is_ok())
}

/// As the engine sees the file. Devices without a number of their own are known until
/// the next boot.
fn stat_id(meta: &Metadata) -> StatId {
    let anonymous = (meta.dev() >> 8) & 0xfff == 0;
    StatId {
        dev: meta.dev(),
        ino: meta.ino(),
        size: meta.size(),
        mtime: (meta.mtime(), meta.mtime_nsec() as u32),
        ctime: (meta.ctime(), meta.ctime_nsec() as u32),
        boot: if anonymous { boot_id() } else { [0; 16] },
    }
}

fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    ppin_persist::paths::from_hex(&digits).unwrap_or_default()
}
