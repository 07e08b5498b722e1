//! The database: unit files in directories, and a catalog beside them.
//!
//! The files are the truth. A runtime finds them by path alone and takes no lock;
//! units never change once published, and appear and vanish by rename and unlink.
//! The catalog (sled) remembers what the files say, so that listing need not open
//! them. It may be missing, damaged or in use by another process: everything works
//! without it, and the next one to open it brings it up to date.
//!
//! All changes of files go through [`Files`], so that tests can stop after every step. The order of steps is always: the new file whole and synced,
//! under its final name, directory synced, and only then the old ones removed.
#![forbid(unsafe_code)]

mod answers;
mod catalog;
mod collect;
mod compact;
mod dead;
mod entry;
mod error;
mod files;
mod image;
mod list;
mod open;
mod pack;
mod plans;
mod profile;
mod remove;
mod rewrite;
mod scan;
mod stat;
mod sync;
mod trust;
mod verify;

pub use collect::{Collected, GcOptions};
pub use compact::Compacted;
pub use entry::{ImageEntry, UnitEntry, UnitFacts};
pub use error::{Error, Refusal};
pub use files::{Disk, Files};
pub use image::image_identity;
pub use open::{Access, Database, default_path};
pub use pack::{Exported, Imported};
pub use remove::{Removed, Selection};
pub use scan::UnitPath;
pub use stat::Totals;
pub use verify::{Damage, Verified};
