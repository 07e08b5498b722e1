//! Unit files: the translated code of one image under one key, frozen so that a
//! later process maps it and runs it.
//!
//! [`freeze()`] turns fragments into the bytes of a file, the same bytes for the
//! same fragments. A reader takes the way of the types: [`RawUnit`] has looked at
//! sizes only, [`VerifiedUnit`] has a sound header, the right key, and checks the
//! rest by groups of 16 KiB before it uses them, so that its cost follows what is
//! touched. [`UnitFile`] adds the code sections, for those who read all of it:
//! [`thaw`](UnitFile::thaw), [`verify_all`](UnitFile::verify_all), [`merge()`].
//! `FORMAT.md` beside this crate draws the file byte by byte.
//!
//! Nothing here touches the operating system; [`paths`] only says how the
//! files of a database are called.
//!
//! Whatever the bytes of a file, reading them ends in a value or in a [`Reject`]:
//! every offset and count is checked where it is used.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
extern crate alloc;

mod access;
mod apart;
mod checksum;
pub mod cpuid;
mod elf;
mod entrance;
mod entry;
pub mod evict;
mod file;
mod freeze;
mod group;
mod head;
pub mod identity;
mod index;
mod key;
mod layout;
mod linked;
mod linker;
mod merge;
mod moved;
pub mod paths;
mod plan;
mod raw;
mod record;
mod reject;
mod search;
mod segments;
mod slot;
mod spec;
mod spills;
pub mod start;
mod tables;
mod thaw;
pub mod trust;
mod unit;
mod verify;

pub use apart::SMALL_FROM;
pub use checksum::source_hash;
pub use file::{UnitFile, UnitSummary};
pub use freeze::freeze;
pub use group::CodeGroup;
pub use head::{Geometry, Head, head_checksum};
pub use key::{Key, ToolIdentity, object_hash, options, tool_key};
pub use layout::{FORMAT_VERSION, GROUP, HEADER_LEN, MAX_COLD, MAX_HOT, PAGE, SectionId};
pub use linked::Spares;
pub use merge::{Merged, merge, merge_as};
pub use moved::{AppField, MovedUnit};
pub use raw::RawUnit;
pub use reject::{KeyPart, Reject};
pub use segments::{Segments, code_at};
pub use slot::{Places, Rules, SlotValue};
pub use spec::{FreezeError, Piece, UnitSpec, unit_flag};
pub use tables::{Entry, FragmentInfo, Reached, Source};
pub use thaw::Thawed;
pub use unit::VerifiedUnit;
