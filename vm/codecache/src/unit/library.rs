//! The databases that a process may use, and under which key.

use super::watch;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use ppin_abi::addr::ImageBase;
use ppin_abi::optimize::Optimize;
use ppin_os::regions;
use ppin_persist::paths::{unit_dir, unit_dir_in};
use ppin_persist::start::UnitPlan;
use ppin_persist::{Key, ToolIdentity, options, tool_key};
use ppin_store::cap::{self, Identity, TidyLock, Written};
use ppin_store::{Folder, Store};

/// The databases of a run, as the launcher has named them, and what decides which of their units can
/// be used.
#[derive(Debug)]
pub struct Databases {
    /// Paths: first the one that may be written to, then those that are only read.
    pub paths: Vec<String>,
    /// Units may be read.
    pub reads: bool,
    /// Units may be written.
    pub writes: bool,
    /// Bits of `ppin_abi::boot::flag`.
    pub flags: u32,
    /// SHA-256 of the runtime.
    pub engine: [u8; 32],
    /// The tools: SHA-256 of their objects, and those of their knobs that change code, with
    /// their values, a line each, sorted.
    pub tools: Vec<ToolIdentity>,
    /// Mechanisms of the compiler that are on.
    pub optimize: Optimize,
}

/// See the module.
#[derive(Debug)]
pub struct Library {
    /// What is known of the databases' folders.
    store: Store,
    databases: Databases,
    /// Nothing may be saved any more (trust given up, borrowed memory).
    closed: bool,
    /// The run may be watched.
    turn: bool,
    /// Parts of the program's start plan that were not used yet, once it was read.
    plan: Option<Vec<UnitPlan>>,
    /// What keys say of the tools and of the options, for images that lie low and for others, and their directory.
    tools: [OnceCell<([u8; 32], [u8; 16])>; 2],
}

impl Library {
    /// A library of which nothing has been read.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        Self {
            store: Store::default(),
            databases,
            closed: false,
            turn: watch::is_turn(),
            plan: None,
            tools: [const { OnceCell::new() }; 2],
        }
    }

    /// Whether the run is watched if the plan wants that: it can say what it has seen.
    pub(super) fn may_watch(&self) -> bool {
        self.turn && self.may_save()
    }

    /// Whether it is the run's turn to be watched.
    #[cfg(test)]
    pub(super) fn set_turn(&mut self, turn: bool) {
        self.turn = turn;
    }

    /// Whether the program's start plan was read.
    pub(super) fn has_read_plan(&self) -> bool {
        self.plan.is_some()
    }

    /// The parts of the program's start plan.
    pub(super) fn set_plan(&mut self, parts: Vec<UnitPlan>) {
        self.plan = Some(parts);
    }

    /// What the program's start plan says of those units of `image` of which code is let run at the
    /// start, the first time.
    pub(super) fn take_parts(&mut self, image: &[u8; 32]) -> Vec<UnitPlan> {
        self.take(|part| part.image == *image && !part.eager.is_empty())
    }

    /// What it says of the unit with this checksum, the first time.
    pub(super) fn take_part(&mut self, unit: u64) -> Option<UnitPlan> {
        self.take(|part| part.unit == unit).pop()
    }

    fn take(&mut self, wanted: impl Fn(&UnitPlan) -> bool) -> Vec<UnitPlan> {
        let plan = self.plan.as_mut();
        plan.map_or_else(Vec::new, |plan| {
            plan.extract_if(.., |part| wanted(part)).collect()
        })
    }

    /// The databases, as the launcher has named them.
    pub(super) fn databases(&self) -> &Databases {
        &self.databases
    }

    /// Whether something may be saved now.
    #[must_use]
    pub fn may_save(&self) -> bool {
        self.databases.writes && !self.closed
    }

    /// From here on nothing may be saved.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Takes [`Self::close`] back.
    pub fn reopen(&mut self) {
        self.closed = false;
    }

    /// What is known of the databases' folders, to use them.
    pub(super) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Notes that a unit or a start plan of `len` bytes was written.
    pub fn wrote(&mut self, len: usize) {
        self.store.wrote(len);
    }

    /// Whether the run has written a unit or a start plan.
    #[must_use]
    pub fn has_written(&self) -> bool {
        self.store.has_written()
    }

    /// Keeps the database that may be written to below `cap` bytes ([`cap::keep`]).
    pub fn keep_below(
        &mut self,
        cap: u64,
        needed: BTreeSet<Identity>,
        used: impl FnOnce() -> Vec<String>,
    ) {
        let db = self.databases.paths.first().map_or("", String::as_str);
        let written = Written { db, cap, needed };
        cap::keep(&mut self.store, &written, used);
    }

    /// The key of the units of an image based at `base`.
    #[must_use]
    pub fn key(&self, image: [u8; 32], base: ImageBase) -> Key {
        let run = &self.databases;
        let low = base.0 < regions::LOW;
        let known = self.tools[usize::from(low)].get_or_init(|| {
            let tool = tool_key(&run.tools, &options(low, run.optimize));
            let key = Key {
                image,
                engine: run.engine,
                tool,
            };
            (tool, key.directory())
        });
        Key {
            image,
            engine: run.engine,
            tool: known.0,
        }
    }

    /// The folder of the units for `key`, one of this run's, relative to a database.
    #[must_use]
    pub fn unit_dir(&self, key: &Key) -> String {
        let mut known = self.tools.iter().filter_map(OnceCell::get);
        let known = known.find(|(tool, _)| *tool == key.tool);
        known.map_or_else(|| unit_dir(key), |(_, dir)| unit_dir_in(dir, &key.image))
    }

    /// The folder `relative` of database number `n`, which is used from here on.
    pub(crate) fn folder(&mut self, n: usize, relative: &str) -> Option<Folder> {
        let dir = self.store.folder(&self.databases.paths[n], relative)?;
        if n == 0 && self.may_save() {
            self.store.note_use(&dir);
        }
        Some(dir)
    }

    /// The lock of the database that may be written to; `None` if another process has it.
    pub fn lock_to_tidy(&mut self) -> Option<TidyLock> {
        let own = self.databases.paths.first()?;
        self.store.lock_to_tidy(own)
    }

    /// The folder `relative` of the database that may be written to.
    pub fn own_folder(&mut self, relative: &str) -> Option<Folder> {
        let own = self.databases.paths.first()?;
        self.store.folder(own, relative)
    }

    /// Makes the folder `relative` of the database that may be written to, unless it exists.
    ///
    /// # Errors
    /// The reason for the statistics.
    pub fn make_own_folder(&mut self, relative: &str) -> Result<Folder, String> {
        let own = self.databases.paths.first().map_or("", String::as_str);
        self.store.make_folder(own, relative)
    }
}
