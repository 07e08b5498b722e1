//! Names in a database directory. Everything in it belongs to its user, mode 0700.
//!
//! ```text
//! DB/units/<engine and tool, 32 hex>/<image identity, 64 hex>/<seq, 8 hex>-<tag, 16 hex>.unit
//! DB/catalog/                           the catalog, may be missing
//! DB/cpuid                              what the CPU answers, until the machine boots again
//! DB/growth                             its length: how much was written since it was counted
//! DB/tidy.lock                          locked by whoever tidies up
//! ```
//! Units are read in the order of their names: ascending sequence, then tag. A
//! writer takes the sequence after the highest it sees; two writers may take the
//! same one, which the tag keeps apart. Names that begin with `.` are temporary.

use crate::Key;
use alloc::string::String;
use alloc::vec::Vec;

/// Directory of all units, under the database.
pub const UNITS: &str = "units";
/// File whose length says how much the database has grown (see `evict`).
pub const GROWTH: &str = "growth";
/// File with what the CPU has answered ([`crate::cpuid`]).
pub const CPUID: &str = "cpuid";
/// File that whoever tidies up holds locked.
pub const TIDY_LOCK: &str = "tidy.lock";
/// Directory of the catalog.
pub const CATALOG: &str = "catalog";
/// Mode of every directory.
pub const DIR_MODE: u32 = 0o700;
/// Mode of every file.
pub const FILE_MODE: u32 = 0o600;
/// File with the start plan of a program, in the folder of its units ([`crate::start`]).
pub const START: &str = "start.plan";
/// First byte of temporary names.
pub const TEMPORARY: &str = ".tmp-";

/// The user's own database, in parts of its path; `variable` gives environment variables.
#[must_use]
pub fn default_database<'a>(variable: impl Fn(&[u8]) -> Option<&'a [u8]>) -> Option<[&'a [u8]; 2]> {
    let set = |name: &[u8]| variable(name).filter(|value| !value.is_empty());
    if let Some(path) = set(b"PPIN_DB") {
        return Some([path, b""]);
    }
    // The XDG base directory specification ignores relative paths.
    match set(b"XDG_CACHE_HOME").filter(|path| path.starts_with(b"/")) {
        Some(cache) => Some([cache, b"/ppin"]),
        None => Some([set(b"HOME")?, b"/.cache/ppin"]),
    }
}

/// Whether a temporary file or an empty directory, last changed at `ctime` (seconds), was
/// left behind by a writer that was killed: none takes an hour.
#[must_use]
pub const fn is_abandoned(ctime: i64, now: i64) -> bool {
    now.saturating_sub(ctime) > 3600
}
/// Whether a temporary file, last changed at `ctime`, is what a dead writer has left.
/// `locked`: its lock is held, or cannot be asked for. A writer locks what it makes, so
/// that this is known as soon as it dies, whatever machine or namespace it ran in; only
/// between making and locking it takes its time.
#[must_use]
pub const fn is_left_behind(ctime: i64, now: i64, locked: bool) -> bool {
    const UNLOCKED: i64 = 2;
    if locked {
        // Where there are no locks.
        return is_abandoned(ctime, now);
    }
    // A change in the future is one before the clock was set back.
    now.abs_diff(ctime) >= UNLOCKED as u64
}

const SUFFIX: &str = ".unit";

/// Name of a unit file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub struct UnitName {
    /// Place in the order of an image's units.
    pub seq: u32,
    /// Keeps writers of the same sequence apart: random, or made of pid and time.
    pub tag: u64,
}

impl UnitName {
    /// The file name.
    #[must_use]
    pub fn file_name(&self) -> String {
        let mut name = to_hex(&self.seq.to_be_bytes());
        name.push('-');
        push_hex(&mut name, &self.tag.to_be_bytes());
        name.push_str(SUFFIX);
        name
    }

    /// Reads a file name; `None` for every name that [`Self::file_name`] does not
    /// make.
    #[must_use]
    pub fn parse(name: &[u8]) -> Option<Self> {
        let name = name.strip_suffix(SUFFIX.as_bytes())?;
        let (seq, tag) = name.split_at_checked(8)?;
        let tag = tag.strip_prefix(b"-").filter(|tag| tag.len() == 16)?;
        Some(Self {
            seq: hex(seq)? as u32,
            tag: hex(tag)?,
        })
    }
}

fn hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u64::from(digit))
    })
}

/// Lower-case hexadecimal digits of `bytes`.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    push_hex(&mut text, bytes);
    text
}

/// Each start makes a dozen such names, for which the general way of writing numbers is slow.
fn push_hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// The bytes that exactly `2 * N` lower-case hexadecimal digits stand for.
#[must_use]
pub fn from_hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let bytes: Option<Vec<u8>> = text.chunks(2).map(|two| Some(hex(two)? as u8)).collect();
    bytes?.try_into().ok()
}

/// Directory of the units for `key`, relative to the database.
#[must_use]
pub fn unit_dir(key: &Key) -> String {
    unit_dir_in(&key.directory(), &key.image)
}

/// Directory of the units for `image` under the engine and tool of a [`Key::directory`], relative to the database.
#[must_use]
pub fn unit_dir_in(directory: &[u8; 16], image: &[u8; 32]) -> String {
    let mut path = String::from(UNITS);
    for part in [to_hex(directory), to_hex(image)] {
        path.push('/');
        path.push_str(&part);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_written_is_not_abandoned() {
        assert!(!is_abandoned(1000, 1000) && !is_abandoned(1000, 4600));
        assert!(!is_abandoned(i64::MAX, 0), "a clock that was set back");
        assert!(is_abandoned(1000, 4601));
    }

    #[test]
    fn what_a_dead_writer_left_is_known_by_its_lock() {
        assert!(!is_left_behind(1000, 1001, false), "made, not locked yet");
        assert!(is_left_behind(1000, 1002, false));
        assert!(is_left_behind(5000, 1000, false), "the clock was set back");
        assert!(!is_left_behind(1000, 1100, true));
        assert!(is_left_behind(1000, 9000, true), "no locks there");
    }

    #[test]
    fn unit_names_round_trip_and_sort_by_sequence() {
        let early = UnitName {
            seq: 9,
            tag: u64::MAX,
        };
        let late = UnitName { seq: 10, tag: 0 };
        assert_eq!(early.file_name(), "00000009-ffffffffffffffff.unit");
        for name in [early, late] {
            assert_eq!(UnitName::parse(name.file_name().as_bytes()), Some(name));
        }
        assert!(early.file_name() < late.file_name());
    }

    #[test]
    fn other_names_are_no_units() {
        for name in [
            "",
            ".unit",
            ".tmp-123",
            "00000009-ffffffffffffffff",
            "00000009-fffffffffffffff.unit",
            "0000000G-ffffffffffffffff.unit",
            "00000009-FFFFFFFFFFFFFFFF.unit",
            "00000009_ffffffffffffffff.unit",
            "000000090-ffffffffffffffff.unit",
        ] {
            assert_eq!(UnitName::parse(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn hexadecimal_round_trips() {
        assert_eq!(to_hex(&[0, 0x1f, 0xff]), "001fff");
        assert_eq!(from_hex(b"001fff"), Some([0, 0x1f, 0xff]));
        assert_eq!(from_hex::<3>(b"001ff"), None);
        assert_eq!(from_hex::<1>(b"0x"), None);
    }
}
