//! Keeping an image's units few.
//!
//! Every program that uses a library may add a small unit to it. A new unit takes
//! its neighbours in when they are not much larger than itself, as the digits of a
//! counter carry: an image keeps about as many units as its size has binary digits,
//! and each fragment is rewritten about as often.

use crate::sys::c;
use crate::sys::file::{self, File, Mapped};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_persist::paths::UnitName;
use ppin_persist::{Key, UnitFile, merge};

/// Units that are left alone however small they are.
const FEW: usize = 2;

/// A unit to be taken in.
struct Neighbour {
    path: String,
    mapped: Mapped,
}

/// What a new unit becomes: its bytes, and the files that it replaces.
pub struct Tidied {
    /// Contents of the file to publish.
    pub bytes: Vec<u8>,
    /// Files to remove after that.
    pub replaces: Vec<String>,
}

/// Takes neighbours of the new unit `bytes` in. `names` are the units in `dir`, in
/// order.
#[must_use]
pub fn take_in(bytes: Vec<u8>, key: &Key, dir: &str, names: &[UnitName]) -> Tidied {
    let neighbours = choose(bytes.len() as u64, dir, names);
    match merged(&bytes, key, &neighbours) {
        Some(merged) => Tidied {
            bytes: merged,
            replaces: neighbours.into_iter().map(|n| n.path).collect(),
        },
        None => Tidied {
            bytes,
            replaces: Vec::new(),
        },
    }
}

/// The newest units, as long as each is at most twice what has been collected.
fn choose(new: u64, dir: &str, names: &[UnitName]) -> Vec<Neighbour> {
    let mut chosen = Vec::new();
    let mut collected = new;
    if names.len() < FEW {
        return chosen;
    }
    for name in names.iter().rev() {
        let path = format!("{dir}/{}", name.file_name());
        let Ok(file) = File::open(&path, c::O_RDONLY | c::O_NOFOLLOW, 0) else {
            break;
        };
        let size = file.stat().map_or(0, |s| s.size);
        if size == 0 || size > 2 * collected {
            break;
        }
        let Ok(mapped) = Mapped::new(file.fd(), size) else {
            break;
        };
        collected += size;
        chosen.push(Neighbour { path, mapped });
    }
    chosen.reverse();
    chosen
}

/// All in one, oldest first; `None` if there is nothing to take in, or if one of them
/// is damaged (it is then left for `ppin db verify` to find).
fn merged(new: &[u8], key: &Key, neighbours: &[Neighbour]) -> Option<Vec<u8>> {
    if neighbours.is_empty() {
        return None;
    }
    let mut files = Vec::new();
    for neighbour in neighbours {
        let file = UnitFile::open(neighbour.mapped.bytes(), Some(key)).ok()?;
        file.verify_all().ok()?;
        files.push(file);
    }
    files.push(UnitFile::open(new, Some(key)).ok()?);
    merge(&files).ok().map(|merged| merged.bytes)
}

/// Removes files that another has replaced.
pub fn remove(paths: &[String]) {
    for path in paths {
        let _ = file::unlink(path);
    }
}
