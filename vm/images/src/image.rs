//! One load of one file.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use ppin_abi::addr::ImageBase;
use ppin_os::file::{self, Stat};
use ppin_os::maps::{self, MapEntry};

/// What is known of an image's base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Naming {
    /// Taken for that of the first executable segment.
    Assumed,
    /// By the headers.
    Checked,
    /// It names code in this process only: nothing is saved, and nothing saved is used.
    Local,
}

/// What the databases have been asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// For nothing yet.
    Nothing,
    /// The units that the program's start plan names.
    Planned,
    /// All units.
    All,
    /// All units, and no more may be mapped.
    Closed,
}

/// Pseudo-path of addresses without memory.
pub const NOWHERE: &str = "[nowhere]";

/// Number of an image, dense from 0, never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageId(pub u32);

/// One load of one file, or a stretch of code without a file.
#[derive(Debug)]
pub struct Image {
    /// See [`Image::path`]; it is set from the start for what is no file.
    pub(super) path: OnceCell<String>,
    /// The file's state when it was mapped; `None` without a file.
    pub file: Option<Stat>,
    /// Address of image offset 0.
    pub base: ImageBase,
    /// Whether code may be kept under offsets from there.
    pub naming: Naming,
    /// First and last address seen mapped.
    pub span: (u64, u64),
    /// Units that were found damaged: the next writer removes them.
    pub damaged: Vec<ppin_persist::paths::UnitName>,
    /// What the databases have been asked for.
    pub asked: Asked,
    /// What its executed branches did not do has been looked at.
    pub explored: bool,
    /// See `ppin_persist::identity`; once known.
    pub identity: Option<[u8; 32]>,
    /// Displacement from `gs` of this image's tool counters.
    pub counters: u64,
    /// App addresses whose persisted translation must not be used, start and end.
    pub off_limits: Vec<(u64, u64)>,
    /// No place for code was found near it.
    pub crowded: bool,
    /// Unmapped again.
    pub gone: bool,
}

impl Image {
    /// Path as the kernel gives it; `[vdso]`, or empty for anonymous memory, and where the kernel does not tell.
    /// That of a file is not asked before it is needed: in a new process the first look
    /// at `/proc` takes longer than mapping the file.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.get_or_init(|| {
            let listed = maps::read().unwrap_or_default();
            path_among(&listed, self.span.0)
        })
    }

    /// Whether its path has been asked for.
    pub fn knows_path(&self) -> bool {
        self.path.get().is_some()
    }

    /// Whether it is the file at `path`, which is its path then.
    pub fn lies_at(&self, path: &[u8]) -> bool {
        let Ok(path) = core::str::from_utf8(path) else {
            return false;
        };
        let here = self.file.is_some() && file::stat_of(path).ok() == self.file;
        here && self.path.get_or_init(|| path.into()) == path
    }

    /// Whether it is the kernel's own code for programs.
    pub fn is_vdso(&self) -> bool {
        self.file.is_none() && self.path() == "[vdso]"
    }

    /// Whether it is memory without a file and `entry` lies where code of it has been
    /// before: generators of code protect pieces of their memory again and again.
    pub fn has_generated(&self, entry: &MapEntry) -> bool {
        let anonymous = maps::is_anonymous(self.path()) && maps::is_anonymous(&entry.path);
        let base = ImageBase(entry.start.wrapping_sub(entry.offset));
        let same = self.path() == entry.path && self.base == base;
        let within = self.span.0 <= entry.start && entry.end <= self.span.1;
        (anonymous || same) && within
    }

    /// Identity of its file, once known.
    #[must_use]
    pub fn identity(&self) -> Option<[u8; 32]> {
        self.identity
    }

    /// Whether code of it may be kept.
    #[must_use]
    pub fn may_be_kept(&self) -> bool {
        let named = self.naming != Naming::Local;
        !self.gone && named && (self.file.is_some() || self.is_vdso())
    }

    /// Whether it stands for addresses without memory.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        self.file.is_none() && self.path() == NOWHERE
    }

    /// Whether code can be placed near it: not so near addresses without memory, nor near
    /// those of the kernel, whose vsyscall page programs may call.
    #[must_use]
    pub fn has_surroundings(&self) -> bool {
        const KERNEL: u64 = 1 << 47;
        !self.is_nowhere() && self.base.0 < KERNEL
    }

    /// Whether persisted code made from `start .. end` must not be used.
    #[must_use]
    pub fn is_off_limits(&self, start: u64, end: u64) -> bool {
        self.off_limits.iter().any(|r| r.0 < end && start < r.1)
    }
}

/// The path of what is mapped at `at`, as the kernel's list has it.
pub(super) fn path_among(listed: &[MapEntry], at: u64) -> String {
    let found = listed
        .iter()
        .find(|entry| (entry.start..entry.end).contains(&at));
    found.map_or_else(String::new, |entry| entry.path.clone())
}
