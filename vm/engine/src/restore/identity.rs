//! Which file an image is: SHA-256 of its contents, remembered per file state.

use crate::config::Config;
use crate::image::Image;
use crate::store::Store;
use crate::sys::file::{File, Mapped, Stat};
use crate::sys::{c, peek, time};
use alloc::vec;
use ppin_persist::memo::{self, MEMO_LEN, StatId};
use ppin_persist::paths::MEMO;
use sha2::{Digest, Sha256};

/// Largest code without a file that is worth hashing: the vdso.
const SMALL: u64 = 64 << 10;

/// Files up to this size are hashed when they are first seen, others when something
/// of them is saved: a program that was just built is often run again at once, before
/// its state can be remembered.
const SMALL_FILE: u64 = 1 << 20;

/// Identity of a file state for the memo. Devices that are numbered anew at each
/// boot count with the boot's id.
#[must_use]
pub fn stat_id(stat: &Stat) -> StatId {
    let anonymous = (stat.dev >> 8) & 0xfff == 0;
    StatId {
        dev: stat.dev,
        ino: stat.ino,
        size: stat.size,
        mtime: stat.mtime,
        ctime: stat.ctime,
        boot: if anonymous { boot_id() } else { [0; 16] },
    }
}

fn boot_id() -> [u8; 16] {
    let mut id = [0; 16];
    let text =
        File::open("/proc/sys/kernel/random/boot_id", c::O_RDONLY, 0).and_then(|f| f.read_all(64));
    let digits = text.unwrap_or_default();
    let digits = digits.iter().filter_map(|b| char::from(*b).to_digit(16));
    for (n, digit) in digits.take(32).enumerate() {
        id[n / 2] = id[n / 2] << 4 | digit as u8;
    }
    id
}

/// SHA-256 of an image's file: as remembered, or computed now if `compute`.
#[must_use]
pub fn image_hash(
    config: &Config,
    store: &mut Store,
    image: &Image,
    compute: bool,
) -> Option<[u8; 32]> {
    let Some(stat) = image.file else {
        return vdso_hash(image);
    };
    let id = stat_id(&stat);
    let compute = compute || stat.size < SMALL_FILE;
    remembered(store, &config.db, &id).or_else(|| {
        let hash = compute.then(|| hash_file(&image.path, &stat)).flatten()?;
        if config.writes() {
            remember(store, &config.db, &id, &hash);
        }
        Some(hash)
    })
}

fn remembered(store: &mut Store, db: &str, id: &StatId) -> Option<[u8; 32]> {
    let mut bytes = [0; MEMO_LEN];
    let file = store.file(db, MEMO, &id.file_name())?;
    let len = file.read_at(&mut bytes, 0).ok()?;
    memo::lookup(&bytes[..len], id)
}

/// Failing to remember costs the next run a hash, no more.
fn remember(store: &mut Store, db: &str, id: &StatId, hash: &[u8; 32]) {
    if !id.settled(time::real().0) {
        return;
    }
    if let Ok(folder) = store.make_folder(db, MEMO) {
        let _ = folder.publish(&id.file_name(), &memo::encode(id, hash), None);
    }
}

/// SHA-256 of the file at `path` if it still is the one in state `stat`, before and
/// after.
#[must_use]
pub fn hash_file(path: &str, stat: &Stat) -> Option<[u8; 32]> {
    let file = File::open(path, c::O_RDONLY | c::O_NONBLOCK, 0).ok()?;
    if file.stat().ok()? != *stat {
        return None;
    }
    let mapped = Mapped::new(file.fd(), stat.size).ok()?;
    let hash = Sha256::digest(mapped.bytes()).into();
    (file.stat().ok()? == *stat).then_some(hash)
}

/// The vdso has no file: its bytes are its identity.
fn vdso_hash(image: &Image) -> Option<[u8; 32]> {
    let len = image.span.1 - image.span.0;
    if image.path != "[vdso]" || len > SMALL {
        return None;
    }
    let mut bytes = vec![0; len as usize];
    (peek::read(image.span.0, &mut bytes) == bytes.len()).then(|| Sha256::digest(&bytes).into())
}
