//! Mapping a unit file at the place it was laid out for, or at another within
//! reach.

use super::bound::Bound;
use alloc::format;
use alloc::string::{String, ToString};
use ppin_abi::boot::flag;
use ppin_images::Image;
use ppin_os::budget;
use ppin_os::file::{File, Stat};
use ppin_os::place;
use ppin_os::{Errno, mem};
use ppin_persist::paths::UnitName;
use ppin_persist::start::{FileState, UnitPlan};
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

/// How a unit is mapped.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// Of [`ppin_abi::boot`].
    pub flags: u32,
    /// What a start plan says of it.
    pub part: Option<&'a UnitPlan>,
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
    how: How<'_>,
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
    let state = state(&stat);
    let all = how.part.is_some_and(|part| part.lets_all_run(&state));
    let mapped = map(&file, &geometry, image, how.flags, all)?;
    let addr = mapped.addr;
    verify(&mapped, &geometry, key, (*name, state))
        .map(Some)
        .inspect(|_| budget::unit_mapped(geometry.file_len))
        .inspect_err(|_| {
            // SAFETY: nothing refers to the mapping.
            let _ = unsafe { mem::unmap(addr, geometry.file_len) };
        })
}

/// Where a unit is mapped.
struct Mapped {
    addr: u64,
    /// Whether it may be executed as it is.
    executable: bool,
}

/// Maps the whole file, to be read; to be executed, too, if `all` of it shall run and runs as it is, so that no
/// further call is needed for that.
fn map(
    file: &File,
    geometry: &Geometry,
    image: &Image,
    flags: u32,
    all: bool,
) -> Result<Mapped, String> {
    let preferred = geometry
        .preferred_hot(image.base)
        .wrapping_sub(geometry.hot.start);
    let moved = flags & (flag::FORBID_PREFERRED | flag::SHUFFLE) != 0;
    // (Code that names its image's base is written to if that is another one.)
    let fits = geometry.fits(geometry.preferred_hot(image.base), image.base);
    let wanted = [(all && fits, mem::RX), (true, mem::R)];
    for (_, bits) in wanted.iter().filter(|(may, _)| *may && !moved) {
        if let Ok(addr) = mem::map_file_at(preferred, geometry.file_len, *bits, file.fd()) {
            let executable = *bits == mem::RX;
            return Ok(Mapped { addr, executable });
        }
    }
    let addr = map_elsewhere(file, geometry, image, flags)?;
    let executable = false;
    Ok(Mapped { addr, executable })
}

/// Maps the whole file, to be read, at another place than its own within reach of the image.
fn map_elsewhere(
    file: &File,
    geometry: &Geometry,
    image: &Image,
    flags: u32,
) -> Result<u64, String> {
    let preferred = geometry
        .preferred_hot(image.base)
        .wrapping_sub(geometry.hot.start);
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
    mapped: &Mapped,
    geometry: &Geometry,
    key: &Key,
    (name, file): (UnitName, FileState),
) -> Result<Bound, Unfit> {
    let addr = mapped.addr;
    // SAFETY: the head and the tables, mapped readable until Bound unmaps them.
    let tables: &'static [u8] =
        unsafe { core::slice::from_raw_parts(addr as *const u8, geometry.hot.start as usize) };
    let raw = RawUnit::new(tables, geometry.file_len)?;
    let unit = raw.verify(key)?;
    let mut bound = Bound::new(name, unit, addr, geometry.clone(), file);
    bound.executable = mapped.executable;
    Ok(bound)
}
