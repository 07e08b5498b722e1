//! Keeping an image's units few.
//!
//! Every program that uses a library may add a small unit to it. A new unit takes
//! its neighbours in when they are not much larger than itself, as the digits of a
//! counter carry: an image keeps about as many units as its size has binary digits,
//! and each fragment is rewritten about as often.

use crate::store::Folder;
use crate::sys::file::Mapped;
use crate::sys::time;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_persist::paths::{TEMPORARY, UnitName, is_abandoned};
use ppin_persist::{Key, UnitFile, merge, merge_as};

/// Units that are left alone however small they are.
const FEW: usize = 2;

/// Bytes of units that are merged in about 50 ms.
const MUCH: usize = 6 << 20;

/// A unit to be taken in.
struct Neighbour {
    name: String,
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
pub fn take_in(bytes: Vec<u8>, key: &Key, dir: &Folder, names: &[UnitName]) -> Tidied {
    let neighbours = choose(bytes.len() as u64, dir, names);
    let opened = opened(key, &neighbours).filter(|all| !all.is_empty());
    let merged = opened.and_then(|mut all| {
        all.push(UnitFile::open(&bytes, Some(key)).ok()?);
        merge(&all).ok()
    });
    match merged {
        Some(merged) => Tidied {
            bytes: merged.bytes,
            replaces: names_of(neighbours),
        },
        None => leave(bytes),
    }
}

/// Leaves the new unit as it is, and what was there.
#[must_use]
pub fn leave(bytes: Vec<u8>) -> Tidied {
    Tidied {
        bytes,
        replaces: Vec::new(),
    }
}

/// Makes one explored unit of all, `new` among them; `None` if that would take long and
/// there is a new one to bear the mark, or if one is damaged (it is left for `ppin db
/// verify` to find).
#[must_use]
pub fn take_all(new: Option<&[u8]>, key: &Key, dir: &Folder, names: &[UnitName]) -> Option<Tidied> {
    let all: Option<Vec<Neighbour>> = names.iter().map(|name| open(dir, name)).collect();
    let neighbours = all?;
    let size: usize = neighbours.iter().map(|n| n.mapped.bytes().len()).sum();
    if new.is_some() && size > MUCH {
        return None;
    }
    let mut units = opened(key, &neighbours)?;
    if let Some(new) = new {
        units.push(UnitFile::open(new, Some(key)).ok()?);
    }
    let bytes = merge_as(&units, true).ok()?.bytes;
    Some(Tidied {
        bytes,
        replaces: names_of(neighbours),
    })
}

fn names_of(neighbours: Vec<Neighbour>) -> Vec<String> {
    neighbours.into_iter().map(|n| n.name).collect()
}

fn open(dir: &Folder, name: &UnitName) -> Option<Neighbour> {
    let name = name.file_name();
    let (file, stat) = dir.open_file(&name).ok()?;
    let mapped = Mapped::new(file.fd(), stat.size).ok()?;
    Some(Neighbour { name, mapped })
}

/// The newest units, as long as each is at most twice what has been collected.
fn choose(new: u64, dir: &Folder, names: &[UnitName]) -> Vec<Neighbour> {
    let mut chosen = Vec::new();
    let mut collected = new;
    if names.len() < FEW {
        return chosen;
    }
    for name in names.iter().rev() {
        let Some(neighbour) = open(dir, name) else {
            break;
        };
        let size = neighbour.mapped.bytes().len() as u64;
        if size > 2 * collected {
            break;
        }
        collected += size;
        chosen.push(neighbour);
    }
    chosen.reverse();
    chosen
}

/// All of them, oldest first; `None` if one is damaged.
fn opened<'a>(key: &Key, neighbours: &'a [Neighbour]) -> Option<Vec<UnitFile<'a>>> {
    let verified = |neighbour: &'a Neighbour| {
        let file = UnitFile::open(neighbour.mapped.bytes(), Some(key)).ok()?;
        file.verify_all().ok()?;
        Some(file)
    };
    neighbours.iter().map(verified).collect()
}

/// Removes what killed writers have left in `dir`.
pub fn sweep(dir: &Folder) {
    let (now, _) = time::real();
    let old = |name: &String| {
        let opened = dir.open_file(name);
        opened.is_ok_and(|(_, stat)| is_abandoned(stat.ctime.0, now))
    };
    let mut names = dir.names();
    names.retain(|name| name.starts_with(TEMPORARY) && old(name));
    remove(dir, &names);
}

/// Removes files that another has replaced.
pub fn remove(dir: &Folder, names: &[String]) {
    for name in names {
        let _ = dir.remove(name);
    }
}
