//! Verification of every byte.

use crate::entry::open_unit;
use crate::error::Error;
use crate::open::Database;
use crate::scan::UnitPath;
use ppin_persist::Reject;
use std::path::PathBuf;

/// Something found wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// File or directory, relative to the database where possible.
    pub path: PathBuf,
    /// What is wrong, in one sentence.
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
    /// What is wrong, in the order of paths.
    pub damage: Vec<Damage>,
}

impl Database {
    /// Verifies all units: that each is what its path says, all checksums, all
    /// records, and that its code is exactly what the writer makes of its fragments.
    /// `progress` is told how many units of how many are done.
    ///
    /// # Errors
    /// A directory cannot be read; damage is not an error but the outcome.
    pub fn verify(&self, mut progress: impl FnMut(u64, u64)) -> Result<Verified, Error> {
        let scan = self.scan()?;
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
            if let Some(why) = self.verify_unit(path, &mut verified) {
                verified.damage.push(Damage {
                    path: path.relative(),
                    why,
                    unit: Some(path.clone()),
                });
            }
        }
        progress(scan.units.len() as u64, scan.units.len() as u64);
        Ok(verified)
    }

    /// What is wrong with a unit, if anything. A unit that is gone is fine.
    fn verify_unit(&self, path: &UnitPath, verified: &mut Verified) -> Option<String> {
        let bytes = match self.read(path) {
            Ok(None) => return None,
            Ok(Some(bytes)) => bytes,
            Err(error) => {
                verified.units += 1;
                return Some(error.to_string());
            }
        };
        verified.units += 1;
        verified.bytes += bytes.len() as u64;
        let verdict = open_unit(path, &bytes).and_then(|unit| unit.verify_all());
        match verdict {
            Err(Reject::Format { .. } | Reject::Layout { .. }) => {
                verified.outdated.push(path.clone());
                None
            }
            other => other.err().map(|why| why.to_string()),
        }
    }
}
