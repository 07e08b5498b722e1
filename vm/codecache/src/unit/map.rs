//! Mapping a unit file at the place it was laid out for, or at another within
//! reach.

use super::bound::Bound;
use crate::image::Image;
use alloc::format;
use alloc::string::{String, ToString};
use ppin_abi::boot::flag;
use ppin_os::budget;
use ppin_os::file::{File, Stat};
use ppin_os::place;
use ppin_os::{Errno, mem};
use ppin_persist::paths::UnitName;
use ppin_persist::start::FileState;
use ppin_persist::{Geometry, HEADER_LEN, Key, RawUnit, Reject};
use ppin_store::{Fault, Folder};

/// Why a unit cannot be used.
#[derive(Debug)]
pub struct Unfit {
    /// In words.
    pub reason: String,
    /// It is of no use to anybody: empty, torn or damaged.
    pub damaged: bool,
}

impl From<String> for Unfit {
    fn from(reason: String) -> Self {
        let damaged = false;
        Self { reason, damaged }
    }
}

impl From<Reject> for Unfit {
    fn from(reject: Reject) -> Self {
        Self {
            reason: reject.to_string(),
            damaged: reject.is_damage(),
        }
    }
}

/// Opens, maps and verifies the head of the unit `name` in `dir`; the reason if it cannot
/// be used, nothing if it is not there any more,
/// or a copy of one of those that are `known`.
pub fn open(
    dir: &Folder,
    name: &UnitName,
    key: &Key,
    image: &Image,
    known: &[Bound],
    flags: u32,
) -> Result<Option<Bound>, Unfit> {
    let (file, stat) = match dir.open_file(&name.file_name()) {
        // Taken in by a larger one since the directory was listed.
        Err(Fault::Missing) => return Ok(None),
        other => other.map_err(|fault| fault.to_string())?,
    };
    let mut head = [0; HEADER_LEN];
    let read = file.read_at(&mut head, 0);
    let read = read.map_err(|e| format!("cannot be read ({e})"))?;
    let geometry = Geometry::peek(&head[..read], stat.size)?;
    // Of a copy nothing more can be expected.
    let checksum = ppin_persist::head_checksum(&head[..read], stat.size);
    if known
        .iter()
        .any(|unit| Some(unit.unit.checksum()) == checksum)
    {
        return Ok(None);
    }
    if !budget::unit_fits(geometry.file_len) {
        return Err(String::from("too large for the limits of memory").into());
    }
    let addr = map(&file, &geometry, image, flags)?;
    verify(addr, &geometry, key, (*name, state(&stat)))
        .map(Some)
        .inspect(|_| budget::unit_mapped(geometry.file_len))
        .inspect_err(|_| {
            // SAFETY: nothing refers to the mapping.
            let _ = unsafe { mem::unmap(addr, geometry.file_len) };
        })
}

/// Maps the whole file, read-only.
fn map(file: &File, geometry: &Geometry, image: &Image, flags: u32) -> Result<u64, String> {
    let preferred = geometry
        .preferred_hot(image.base)
        .wrapping_sub(geometry.hot.start);
    let moved = flags & (flag::FORBID_PREFERRED | flag::SHUFFLE) != 0;
    if !moved && let Ok(addr) = mem::map_file_at(preferred, geometry.file_len, mem::R, file.fd()) {
        return Ok(addr);
    }
    let salt = if flags & flag::SHUFFLE != 0 {
        ppin_os::time::monotonic_ns() & 0xfff_f000
    } else {
        0
    };
    let first = place::NEAREST + (place::FARTHEST - place::NEAREST) / 2 + salt;
    let others =
        core::iter::once_with(|| place::gaps(image.span.0, image.span.1, geometry.file_len))
            .flatten();
    for addr in place::candidates(image.base.0, geometry.file_len, first).chain(others) {
        let near = place::reaches(addr, geometry.file_len, image.span.0, image.span.1);
        if !near || addr == preferred {
            continue;
        }
        match mem::map_file_at(addr, geometry.file_len, mem::R, file.fd()) {
            Ok(addr) => return Ok(addr),
            Err(Errno::EEXIST) => {}
            Err(e) => return Err(format!("cannot be mapped ({e})")),
        }
    }
    Err(String::from("no free place within 2 GiB of its image"))
}

fn state(stat: &Stat) -> FileState {
    FileState {
        len: stat.size,
        ino: stat.ino,
        mtime: stat.mtime,
        ctime: stat.ctime,
    }
}

/// Verifies the head of what is mapped at `addr`. The rest is verified by groups, each
/// before it is used, whatever has happened to the file since it was written.
fn verify(
    addr: u64,
    geometry: &Geometry,
    key: &Key,
    (name, file): (UnitName, FileState),
) -> Result<Bound, Unfit> {
    // SAFETY: the head and the tables, mapped readable until Bound unmaps them.
    let tables: &'static [u8] =
        unsafe { core::slice::from_raw_parts(addr as *const u8, geometry.hot.start as usize) };
    let raw = RawUnit::new(tables, geometry.file_len)?;
    let unit = raw.verify(key)?;
    Ok(Bound::new(name, unit, addr, geometry.clone(), file))
}
