//! All code of one process.

use crate::bundles::Bundles;
use crate::figures::Figures;
use crate::fresh::FreshCode;
use crate::journal::Journal;
use crate::sealed::Sealed;
use crate::unit::Units;
use alloc::string::String;
use alloc::vec::Vec;
use ppin_guard::Guards;
use ppin_images::Images;
use ppin_indirect::IblTable;
use ppin_persist::start::Prediction;

/// All code of one process. One lock guards it.
#[derive(Debug)]
pub struct CodeCache {
    /// Executable memory of the app.
    pub(crate) images: Images,
    /// Persisted code.
    pub(crate) units: Units,
    /// Fresh code.
    pub(crate) fresh: FreshCode,
    /// Indirect branches.
    pub(crate) ibl: IblTable,
    /// Predictions of jumps in code that does not run yet, or to such: of which unit, by its checksum.
    pub(crate) expected: Vec<(u64, Prediction)>,
    /// Cells that do not change.
    pub(crate) sealed: Sealed,
    /// Pages of app code that we made read-only.
    pub(crate) guards: Guards,
    /// What cells of counts stand for.
    pub(crate) bundles: Bundles,
    /// What has been done.
    pub(crate) figures: Figures,
    /// What is being done, a line for each event.
    pub(crate) journal: Journal,
}

impl CodeCache {
    /// An empty one that flushes fresh code at `limit` bytes. Indirect branches are looked up in
    /// `ibl`.
    #[must_use]
    pub fn new(limit: u64, ibl: IblTable) -> Self {
        Self {
            images: Images::default(),
            units: Units::default(),
            fresh: FreshCode::new(limit),
            ibl,
            expected: Vec::new(),
            sealed: Sealed::default(),
            guards: Guards::default(),
            bundles: Bundles::default(),
            figures: Figures::default(),
            journal: Journal::default(),
        }
    }

    /// Executable memory of the app.
    #[must_use]
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// Executable memory of the app, to make more of it known.
    pub fn images_mut(&mut self) -> &mut Images {
        &mut self.images
    }

    /// Persisted code.
    #[must_use]
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Pages of app code that are read-only because of the VM.
    #[must_use]
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The journal, to write to it.
    pub fn journal_mut(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// What has been done.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Counts a trace whose translation took `ticks`.
    pub fn count_compiled(&mut self, ticks: u64) {
        self.figures.traces_compiled += 1;
        self.figures.spent.compile += ticks;
    }

    /// The traces compiled since there were `compiled` were not executed: the next run is likely to
    /// need them.
    pub fn count_anticipated(&mut self, compiled: u64) {
        let all = core::mem::replace(&mut self.figures.traces_compiled, compiled);
        self.figures.traces_anticipated += all - compiled;
    }

    /// Counts a flush because the cache is full.
    pub fn count_flush(&mut self) {
        self.figures.flushes += 1;
    }

    /// Adds `ticks` to the time spent on freezing and writing units.
    pub fn add_time_to_persist(&mut self, ticks: u64) {
        self.figures.spent.persist += ticks;
    }

    /// Notes why something persisted was not used, or nothing was saved.
    pub fn note(&mut self, reason: String) {
        self.figures.note(reason);
    }

    /// Forgets what has been done, in a forked child.
    pub fn forget_figures(&mut self) {
        self.figures = Figures::default();
        self.fresh.most_retired = 0;
    }

    /// Forgets all fresh code, whose memory may be in use for a while. What was to be saved has
    /// been.
    pub fn flush(&mut self) {
        self.ibl.clear();
        self.fresh.flush();
        self.sealed.clear();
    }

    /// Forgets all fresh code without a look at its tables, which may have been left half
    /// changed. Nothing of it is saved.
    pub fn start_over(&mut self) {
        self.fresh.directory.disown_tables();
        self.release_doubtful();
        self.flush();
    }
}
