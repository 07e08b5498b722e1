//! All code of one process.

use crate::figures::Figures;
use crate::fresh::FreshCode;
use crate::guard::Guards;
use crate::image::Images;
use crate::indirect::IblTable;
use crate::journal::Journal;
use crate::unit::Units;

/// All code of one process. One lock guards it.
#[derive(Debug)]
pub struct CodeCache {
    /// Executable memory of the app.
    pub images: Images,
    /// Persisted code.
    pub units: Units,
    /// Fresh code.
    pub(crate) fresh: FreshCode,
    /// Indirect branches.
    pub ibl: IblTable,
    /// Pages of app code that we made read-only.
    pub guards: Guards,
    /// What has been done.
    pub figures: Figures,
    /// What is being done, a line for each event.
    pub journal: Journal,
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
            guards: Guards::default(),
            figures: Figures::default(),
            journal: Journal::default(),
        }
    }

    /// Forgets all fresh code, whose memory may be in use for a while. What was to be saved has
    /// been.
    pub fn flush(&mut self) {
        self.ibl.clear();
        self.fresh.flush();
    }

    /// Forgets all fresh code without a look at its tables, which may have been left half
    /// changed. Nothing of it is saved.
    pub fn start_over(&mut self) {
        self.fresh.directory.disown_tables();
        self.release_doubtful();
        self.flush();
    }
}
