//! Start plans, which lie beside the units of the programs' own images.
//!
//! Runs write and follow them by themselves. Here they are verified and removed; [`crate::profile`] keeps what they
//! know of units that are merged.

use crate::error::{Context, Error};
use crate::open::Database;
use crate::scan::Scan;
use crate::trust;
use crate::verify::Damage;
use ppin_persist::start::{self, MAX_PLAN};
use std::io::Read;
use std::path::Path;

impl Database {
    /// What is wrong with the plans.
    pub(crate) fn damaged_plans(&self, scan: &Scan) -> Vec<Damage> {
        let damage = |path: &Path| {
            Some(Damage {
                path: path.strip_prefix(self.path()).unwrap_or(path).to_owned(),
                why: fault(path)?,
                unit: None,
            })
        };
        let plans = scan.plans.iter();
        plans.filter_map(|path| damage(path)).collect()
    }

    /// Removes damaged plans, and those of programs whose units have gone.
    pub(crate) fn sweep_plans(&self, scan: &Scan) -> Result<(), Error> {
        let full = |path: &&std::path::PathBuf| {
            let mut units = scan.units.iter();
            units.any(|unit| Some(self.path().join(unit.dir()).as_path()) == path.parent())
        };
        let leftover = scan.plans.iter().filter(|path| !full(path));
        let damaged = scan.plans.iter().filter(|path| fault(path).is_some());
        leftover
            .chain(damaged)
            .try_for_each(|path| self.remove_path(path))
    }
}

/// What is wrong with a plan; a plan that is gone is not damaged.
fn fault(path: &Path) -> Option<String> {
    match contents(path) {
        Err(_) if !path.exists() => None,
        Err(error) => Some(error.to_string()),
        Ok(bytes) => {
            let sound = start::decode(&bytes).is_some() || start::is_of_other_version(&bytes);
            (!sound).then(|| "the start plan's checksum does not match".to_owned())
        }
    }
}

/// The contents of a plan's file.
pub(crate) fn contents(path: &Path) -> Result<Vec<u8>, Error> {
    let (file, _) = trust::open_file(path)?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_PLAN as u64).read_to_end(&mut bytes);
    read.context("read", path)?;
    Ok(bytes)
}
