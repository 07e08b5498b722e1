//! Keeps the number of an image's units small.
//!
//! A new unit is added beside the others, so that writing it costs as much as its own fragments.
//! When there are many units, the newest are merged with it, within the run's allowance; large ones
//! stay alone. So each fragment is rewritten seldom, and an image keeps a handful of large units
//! and a few small ones. `ppin db` verbs merge all units into one.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_os::mapped::Mapped;
use ppin_persist::paths::UnitName;
use ppin_persist::{HEADER_LEN, Key, UnitFile, merge, merge_as};
use ppin_store::Folder;

/// Units that an image may have before small ones are merged: each costs every start that opens it
/// some 20 to 80 us.
const MANY: usize = 4;
/// Smallest number of units that is worth merging.
const WORTH: usize = 3;

/// Units that an image may have before copies are looked for.
const CROWD: usize = 32;
/// Units that are compared in one run, which takes some 10 ms.
const LOOKED_AT: usize = 2000;

/// Bytes of units that are merged in about 50 ms.
const MUCH: usize = 6 << 20;

/// A unit to be merged.
struct Neighbour {
    name: String,
    mapped: Mapped,
}

/// The result of tidying: the bytes of the new unit, and the files that it replaces.
pub(super) struct Tidied {
    /// Contents of the file to publish.
    pub bytes: Vec<u8>,
    /// Files to remove after that.
    pub replaces: Vec<String>,
}

/// Merges the newest of `names`, the units in `dir` in order, into the new unit `bytes` if there
/// are many, up to `most` bytes of them.
#[must_use]
pub(super) fn take_in(
    bytes: Vec<u8>,
    key: &Key,
    dir: &Folder,
    names: &[UnitName],
    most: u64,
) -> Tidied {
    if names.len() < MANY {
        return leave(bytes);
    }
    let neighbours = choose(dir, names, most);
    let merged = (neighbours.len() >= WORTH)
        .then(|| merged(&bytes, key, &neighbours))
        .flatten();
    match merged {
        Some(merged) => Tidied {
            bytes: merged,
            replaces: names_of(neighbours),
        },
        None => leave(bytes),
    }
}

/// Merges all into one unit; `None` if one is damaged, or they do not fit together.
fn merged(new: &[u8], key: &Key, neighbours: &[Neighbour]) -> Option<Vec<u8>> {
    let mut all = opened(key, neighbours)?;
    all.push(UnitFile::open(new, Some(key)).ok()?);
    Some(merge(&all).ok()?.bytes)
}

/// Keeps the new unit and the existing ones unchanged.
#[must_use]
pub(super) fn leave(bytes: Vec<u8>) -> Tidied {
    Tidied {
        bytes,
        replaces: Vec::new(),
    }
}

/// Merges all units, `new` among them, into one marked as explored. `None` if that would take long
/// and there is a new unit to carry the mark, or if one is damaged (it is left for `ppin db verify`
/// to find).
#[must_use]
pub(super) fn take_all(
    new: Option<&[u8]>,
    key: &Key,
    dir: &Folder,
    names: &[UnitName],
) -> Option<Tidied> {
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

/// The newest units, oldest first, of `most` bytes in all.
fn choose(dir: &Folder, names: &[UnitName], most: u64) -> Vec<Neighbour> {
    let mut chosen = Vec::new();
    let mut collected = 0;
    for name in names.iter().rev() {
        let Some(neighbour) = open(dir, name) else {
            break;
        };
        collected += neighbour.mapped.bytes().len() as u64;
        if collected > most {
            break;
        }
        chosen.push(neighbour);
    }
    chosen.reverse();
    chosen
}

/// Opens all units; `None` if a head is damaged. Merging verifies the rest.
fn opened<'a>(key: &Key, neighbours: &'a [Neighbour]) -> Option<Vec<UnitFile<'a>>> {
    let open = |neighbour: &'a Neighbour| UnitFile::open(neighbour.mapped.bytes(), Some(key)).ok();
    neighbours.iter().map(open).collect()
}

/// Removes units that are copies of others, if there are very many: runs that began at the same
/// time write equal units. Of equal ones, one of `first` stays.
pub(super) fn drop_copies(dir: &Folder, names: &mut Vec<UnitName>, first: Vec<UnitName>) {
    if names.len() <= CROWD {
        return;
    }
    let mut seen = BTreeSet::new();
    let mut copies = BTreeSet::new();
    let others = names.iter().filter(|name| !first.contains(name));
    for name in first.iter().chain(others).take(LOOKED_AT) {
        let checksum = checksum(dir, name);
        if checksum.is_some_and(|sum| !seen.insert(sum)) {
            copies.insert(*name);
        }
    }
    names.retain(|name| !copies.contains(name));
    let copies: Vec<String> = copies.iter().map(UnitName::file_name).collect();
    remove(dir, &copies);
}

/// The checksum of the whole file's contents, from the unit's head.
fn checksum(dir: &Folder, name: &UnitName) -> Option<u64> {
    let (file, stat) = dir.open_file(&name.file_name()).ok()?;
    let mut head = [0; HEADER_LEN];
    let read = file.read_at(&mut head, 0).ok()?;
    ppin_persist::head_checksum(&head[..read], stat.size)
}

/// Removes unit files that another one has replaced.
pub(super) fn remove(dir: &Folder, names: &[String]) {
    for name in names {
        let _ = dir.remove(name);
    }
}
