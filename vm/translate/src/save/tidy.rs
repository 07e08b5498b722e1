//! Keeps the number of an image's units small.
//!
//! Each unit costs every start that opens it, and what leads from one to another must be looked up. So a
//! new one takes in those before it that are small, or not much larger than what it has become: an image
//! keeps a handful of units, each several times as large as the next, and each fragment is rewritten
//! seldom. What takes longer than the run may spend is done by one of as many runs as would share it, or
//! by one that has translated as much itself: code that is spread over two large units is a fifth slower.
//! `ppin db` verbs merge all units into one.

use super::asked::Asked;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ppin_os::mapped::Mapped;
use ppin_persist::paths::UnitName;
use ppin_persist::start::History;
use ppin_persist::{HEADER_LEN, Key, UnitFile, merge_as};
use ppin_store::Folder;
use ppin_store::cap::TidyLock;

/// Bytes of a small unit: it is merged in a quarter of a millisecond, once, and costs every start some
/// 20 us.
const SMALL: usize = 64 << 10;
/// A unit is taken in by one of at least its size divided by this.
const TIMES: usize = 4;

/// Units that an image may have before copies are looked for.
const CROWD: usize = 32;
/// Units that are compared in one run, which takes some 10 ms.
const LOOKED_AT: usize = 2000;

/// Bytes of units that are merged in about 50 ms.
const MUCH: usize = 12 << 20;

/// A unit to be merged.
struct Neighbour {
    name: UnitName,
    mapped: Mapped,
}

/// The result of tidying: the bytes of the new unit, and the files that it replaces.
pub(super) struct Tidied {
    /// Contents of the file to publish.
    pub bytes: Vec<u8>,
    /// Units whose files are to be removed after that.
    pub replaces: Vec<UnitName>,
    /// Which runs have asked for each fragment; empty: it holds none but the run's own.
    pub histories: Vec<History>,
    /// Held until then, where much is merged.
    pub lock: Option<TidyLock>,
}

/// How much may be merged.
pub(super) struct Means<L> {
    /// So many bytes in any case.
    pub most: u64,
    /// Number of the run's unit: one of so many runs may merge as many times as much.
    pub turn: u32,
    /// Takes the lock, if nobody has it, and existing units of so many bytes may be merged with so many new
    /// ones.
    pub lock: L,
}

/// Merges the newest of `names`, the units in `dir` in order, into the new unit `bytes` while that is
/// worth it and the means allow it.
#[must_use]
pub(super) fn take_in(
    bytes: Vec<u8>,
    key: &Key,
    (dir, names): (&Folder, &[UnitName]),
    means: Means<impl FnOnce(u64, u64) -> Option<TidyLock>>,
    asked: &Asked,
) -> Tidied {
    let mut neighbours = choose(bytes.len(), dir, names);
    let mut lock = None;
    let much = size(&neighbours);
    if much > means.most {
        let own = bytes.len() as u64;
        let may = is_turn(means.turn, much, means.most.max(own));
        lock = may.then(|| (means.lock)(much, own)).flatten();
        if lock.is_none() {
            keep_newest(&mut neighbours, means.most);
        }
    }
    if neighbours.is_empty() {
        return leave(bytes);
    }
    match merged(&bytes, key, &neighbours, asked) {
        Some((bytes, histories)) => Tidied {
            bytes,
            replaces: names_of(neighbours),
            histories,
            lock,
        },
        None => leave(bytes),
    }
}

/// Whether run number `turn` merges `much`: of all runs those do that would together have merged as much,
/// if each merged `most`. That is as much as a run has translated itself, at least: to merge a trace takes a
/// third of the time that it takes to translate one. (Number 0 finds nothing to merge, and the first ones
/// after it add most.)
fn is_turn(turn: u32, much: u64, most: u64) -> bool {
    (u64::from(turn) + 1).is_multiple_of(much.div_ceil(most.max(1)))
}

/// Bytes of all units.
fn size(neighbours: &[Neighbour]) -> u64 {
    let len = |neighbour: &Neighbour| neighbour.mapped.bytes().len() as u64;
    neighbours.iter().map(len).sum()
}

/// Leaves the newest units, `most` bytes in all.
fn keep_newest(neighbours: &mut Vec<Neighbour>, most: u64) {
    while size(neighbours) > most {
        neighbours.remove(0);
    }
}

/// A unit, and the histories of its fragments.
type Merged = (Vec<u8>, Vec<History>);

/// Merges all into one unit, which is explored if the last one is; `None` if one is damaged, or they do not
/// fit together.
fn merged(new: &[u8], key: &Key, neighbours: &[Neighbour], asked: &Asked) -> Option<Merged> {
    let new = UnitFile::open(new, Some(key)).ok()?;
    let explored = new.unit().geometry().explored;
    merged_as((Some(new), explored), key, neighbours, asked)
}

/// Merges all into one unit, with the new one if there is one.
fn merged_as(
    (new, explored): (Option<UnitFile<'_>>, bool),
    key: &Key,
    neighbours: &[Neighbour],
    asked: &Asked,
) -> Option<Merged> {
    let mut all = opened(key, neighbours)?;
    all.extend(new);
    let name = |nth: usize| neighbours.get(nth).map(|neighbour| neighbour.name);
    let history = |nth: usize, number: u32| asked.history(name(nth), number);
    let merged = merge_as(&all, explored, |nth, n| history(nth, n).share()).ok()?;
    let histories = merged.histories(history);
    Some((merged.bytes, histories))
}

/// Keeps the new unit and the existing ones unchanged.
#[must_use]
pub(super) fn leave(bytes: Vec<u8>) -> Tidied {
    Tidied {
        bytes,
        replaces: Vec::new(),
        histories: Vec::new(),
        lock: None,
    }
}

/// Merges all units, `new` among them, into one marked as explored. `None` if that would take long
/// and there is a new unit to carry the mark, or if one is damaged (it is left for `ppin db verify`
/// to find).
#[must_use]
pub(super) fn take_all(
    new: Option<&[u8]>,
    key: &Key,
    (dir, names): (&Folder, &[UnitName]),
    asked: &Asked,
) -> Option<Tidied> {
    let all: Option<Vec<Neighbour>> = names.iter().map(|name| open(dir, name)).collect();
    let neighbours = all?;
    let size: usize = neighbours.iter().map(|n| n.mapped.bytes().len()).sum();
    if new.is_some() && size > MUCH {
        return None;
    }
    let new = new.map(|new| UnitFile::open(new, Some(key))).transpose();
    let (bytes, histories) = merged_as((new.ok()?, true), key, &neighbours, asked)?;
    Some(Tidied {
        bytes,
        replaces: names_of(neighbours),
        histories,
        lock: None,
    })
}

fn names_of(neighbours: Vec<Neighbour>) -> Vec<UnitName> {
    neighbours.into_iter().map(|n| n.name).collect()
}

fn open(dir: &Folder, name: &UnitName) -> Option<Neighbour> {
    let (file, stat) = dir.open_file(&name.file_name()).ok()?;
    let mapped = Mapped::new(file.fd(), stat.size).ok()?;
    Some(Neighbour {
        name: *name,
        mapped,
    })
}

/// The newest units, oldest first, that a unit of `len` bytes takes in.
fn choose(mut len: usize, dir: &Folder, names: &[UnitName]) -> Vec<Neighbour> {
    let mut chosen = Vec::new();
    for name in names.iter().rev() {
        let more = dir.size_of(&name.file_name()) as usize;
        if more > SMALL.max(TIMES * len) {
            break;
        }
        let Some(neighbour) = open(dir, name) else {
            break;
        };
        len += more;
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
    remove(dir, copies.iter());
}

/// The checksum of the whole file's contents, from the unit's head.
fn checksum(dir: &Folder, name: &UnitName) -> Option<u64> {
    let (file, stat) = dir.open_file(&name.file_name()).ok()?;
    let mut head = [0; HEADER_LEN];
    let read = file.read_at(&mut head, 0).ok()?;
    ppin_persist::head_checksum(&head[..read], stat.size)
}

/// Removes unit files that another one has replaced.
pub(super) fn remove<'a>(dir: &Folder, names: impl IntoIterator<Item = &'a UnitName>) {
    for name in names {
        let _ = dir.remove(&name.file_name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_share_what_takes_longer_than_one_may() {
        for (much, most, runs) in [(1000, 100, 10), (1001, 100, 11), (101, 100, 2), (5, 0, 5)] {
            let turns = (0..110).filter(|turn| is_turn(*turn, much, most)).count();
            assert_eq!(turns, 110 / runs, "{much} of {most}");
        }
        assert!((0..110).all(|turn| is_turn(turn, 1000, 1000)), "as much");
    }
}
