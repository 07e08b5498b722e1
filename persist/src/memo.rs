//! Image hash memos: a file's identity for `stat`, and the SHA-256 of its contents.
//!
//! A memo is believed only if all of the identity agrees, so a wrong file under a
//! memo's name costs a hash computation, never a wrong answer. Files younger than
//! two seconds must not be memoised: they may change within one clock tick.
//!
//! ```text
//!   0  magic "ppinmemo"
//!   8  device                 16  inode                  24  size
//!  32  mtime, seconds         40  ctime, seconds
//!  48  mtime, nanoseconds     52  ctime, nanoseconds
//!  56  boot id, 16 bytes; zero for devices with a lasting number
//!  72  SHA-256, 32 bytes
//! 104  zero, 16 bytes
//! 120  XXH3-64 of the bytes before
//! ```

use crate::checksum;
use crate::record::{Record, records};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use rkyv::{Archive, Deserialize, Serialize};

/// Length of a memo file.
pub const MEMO_LEN: usize = 128;

/// Age in seconds that a file must have to be memoised.
pub const MIN_AGE: i64 = 2;

const MAGIC: [u8; 8] = *b"ppinmemo";
const CHECKED: usize = MEMO_LEN - 8;

/// What `stat` says about a file, and for how long that identifies it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct StatId {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Length in bytes.
    pub size: u64,
    /// Last change of contents: seconds, nanoseconds.
    pub mtime: (i64, u32),
    /// Last change of the inode: seconds, nanoseconds.
    pub ctime: (i64, u32),
    /// Boot id for devices that are numbered anew at each boot (major number 0), else
    /// zero.
    pub boot: [u8; 16],
}

#[derive(Archive, Serialize, Deserialize, Clone, Copy)]
struct MemoRec {
    magic: [u8; 8],
    dev: u64,
    ino: u64,
    size: u64,
    mtime: i64,
    ctime: i64,
    mtime_ns: u32,
    ctime_ns: u32,
    boot: [u8; 16],
    image: [u8; 32],
    reserved: [u8; 16],
    checksum: u64,
}

records!(MemoRec);
const _: () = assert!(MemoRec::LEN == MEMO_LEN);

impl StatId {
    /// Name of the memo file in the memo directory.
    #[must_use]
    pub fn file_name(&self) -> String {
        let bytes = encode(self, &[0; 32]);
        let mut name = String::new();
        // Writing to a string cannot fail.
        let _ = write!(name, "{:016x}", checksum::group(&bytes[..CHECKED]));
        name
    }

    /// Whether the file is old enough at `now` (seconds) to be memoised.
    #[must_use]
    pub const fn settled(&self, now: i64) -> bool {
        let (mtime, ctime) = (self.mtime.0, self.ctime.0);
        let last = if mtime > ctime { mtime } else { ctime };
        now.saturating_sub(last) >= MIN_AGE
    }
}

/// Contents of a memo file.
#[must_use]
pub fn encode(id: &StatId, image: &[u8; 32]) -> [u8; MEMO_LEN] {
    let rec = MemoRec {
        magic: MAGIC,
        dev: id.dev,
        ino: id.ino,
        size: id.size,
        mtime: id.mtime.0,
        ctime: id.ctime.0,
        mtime_ns: id.mtime.1,
        ctime_ns: id.ctime.1,
        boot: id.boot,
        image: *image,
        reserved: [0; 16],
        checksum: 0,
    };
    let mut written = Vec::with_capacity(MEMO_LEN);
    rec.put(&mut written);
    let mut bytes = [0; MEMO_LEN];
    bytes.copy_from_slice(&written);
    let sum = checksum::group(&bytes[..CHECKED]);
    bytes[CHECKED..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// What a memo file says, if it is intact.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<(StatId, [u8; 32])> {
    let rec: MemoRec = MemoRec::get(bytes)?;
    let intact = rec.magic == MAGIC && rec.checksum == checksum::group(bytes.get(..CHECKED)?);
    let id = StatId {
        dev: rec.dev,
        ino: rec.ino,
        size: rec.size,
        mtime: (rec.mtime, rec.mtime_ns),
        ctime: (rec.ctime, rec.ctime_ns),
        boot: rec.boot,
    };
    intact.then_some((id, rec.image))
}

/// The SHA-256 that a memo file gives for the file `id`, if it is about that file.
#[must_use]
pub fn lookup(bytes: &[u8], id: &StatId) -> Option<[u8; 32]> {
    let (found, image) = decode(bytes)?;
    (found == *id).then_some(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> StatId {
        StatId {
            dev: 0xfe01,
            ino: 77,
            size: 123_456,
            mtime: (1_700_000_000, 5),
            ctime: (1_700_000_100, 6),
            boot: [3; 16],
        }
    }

    #[test]
    fn memos_round_trip() {
        let bytes = encode(&sample(), &[7; 32]);
        assert_eq!(decode(&bytes), Some((sample(), [7; 32])));
        assert_eq!(lookup(&bytes, &sample()), Some([7; 32]));
    }

    #[test]
    fn a_memo_about_another_file_is_not_believed() {
        let bytes = encode(&sample(), &[7; 32]);
        let touched = StatId {
            ctime: (1_700_000_100, 7),
            ..sample()
        };
        assert_eq!(lookup(&bytes, &touched), None);
        assert_ne!(touched.file_name(), sample().file_name());
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = encode(&sample(), &[7; 32]);
        for bit in 0..8 * MEMO_LEN {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&damaged), None, "bit {bit}");
        }
        assert_eq!(decode(&bytes[..127]), None);
    }

    #[test]
    fn young_files_are_not_settled() {
        assert!(!sample().settled(1_700_000_101));
        assert!(sample().settled(1_700_000_102));
        assert!(!sample().settled(0));
    }
}
