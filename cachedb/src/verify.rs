//! Verification of every byte.

use crate::catalog::Catalog;
use crate::entry::{UnitFacts, facts, open_unit, state_of};
use crate::error::Error;
use crate::open::Database;
use crate::scan::UnitPath;
use crate::trust;
use ppin_persist::Reject;
use std::path::PathBuf;

/// Something found wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// File or directory, relative to the database where possible.
    pub path: PathBuf,
    /// The damage, in one sentence.
    pub why: String,
    /// The unit, if it is one: [`Database::discard`] removes it.
    pub unit: Option<UnitPath>,
}

/// Outcome of a verification.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Verified {
    /// Units looked at.
    pub units: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Units of other versions of ppin: of no use here, but not damaged.
    pub outdated: Vec<UnitPath>,
    /// Damage, in the order of paths.
    pub damage: Vec<Damage>,
}

impl Database {
    /// Verifies all units: that each is what its path says, all checksums, all
    /// records, and that its code is exactly what the writer makes of its fragments.
    /// `progress` is told how many units of how many are done.
    ///
    /// # Errors
    /// A directory cannot be read; damage is not an error but the outcome.
    pub fn verify(&self, progress: impl FnMut(u64, u64)) -> Result<Verified, Error> {
        self.verify_units(false, progress)
    }

    /// [`Self::verify`], but what was found sound before and has not been touched
    /// since is not read again: for tidying, whose cost shall follow what is new.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub fn verify_new(&self, progress: impl FnMut(u64, u64)) -> Result<Verified, Error> {
        self.verify_units(true, progress)
    }

    fn verify_units(
        &self,
        only_new: bool,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Verified, Error> {
        let scan = self.scan()?;
        let catalog = self.catalog();
        let mut verified = Verified::default();
        for refused in &scan.refused {
            if let Error::Refused { path, why } = refused {
                verified.damage.push(Damage {
                    path: path.clone(),
                    why: why.to_string(),
                    unit: None,
                });
            }
        }
        for (done, path) in (0..).zip(&scan.units) {
            progress(done, scan.units.len() as u64);
            let known = only_new.then_some(catalog.as_ref()).flatten();
            if known.is_some_and(|catalog| self.known_sound(path, catalog)) {
                continue;
            }
            if let Some(why) = self.verify_unit(path, catalog.as_ref(), &mut verified) {
                verified.damage.push(Damage {
                    path: path.relative(),
                    why,
                    unit: Some(path.clone()),
                });
            }
        }
        verified.damage.extend(self.damaged_plans(&scan));
        verified.damage.extend(self.damaged_answers());
        progress(scan.units.len() as u64, scan.units.len() as u64);
        if let Some(catalog) = catalog {
            catalog.close();
        }
        Ok(verified)
    }

    fn known_sound(&self, path: &UnitPath, catalog: &Catalog) -> bool {
        let opened = trust::open_file(&self.path().join(path.relative()));
        opened.is_ok_and(|(_, meta)| {
            let facts = catalog.get(path, &state_of(&meta));
            facts.is_some_and(|facts| facts.sound)
        })
    }

    /// The damage of a unit, if any. A unit that is gone is not damaged.
    fn verify_unit(
        &self,
        path: &UnitPath,
        catalog: Option<&Catalog>,
        verified: &mut Verified,
    ) -> Option<String> {
        let (bytes, state) = match self.read_with_state(path) {
            Ok(None) => return None,
            Ok(Some(read)) => read,
            Err(error) => {
                verified.units += 1;
                return Some(error.to_string());
            }
        };
        verified.units += 1;
        verified.bytes += bytes.len() as u64;
        match open_unit(path, &bytes).and_then(|unit| unit.verify_all()) {
            Ok(()) => {
                if let (Some(catalog), Ok(facts)) = (catalog, facts(&bytes, path, &state)) {
                    catalog.put(
                        path,
                        &state,
                        &UnitFacts {
                            sound: true,
                            ..facts
                        },
                    );
                }
                None
            }
            Err(Reject::Format { .. } | Reject::Layout { .. }) => {
                verified.outdated.push(path.clone());
                None
            }
            Err(why) => Some(why.to_string()),
        }
    }
}
