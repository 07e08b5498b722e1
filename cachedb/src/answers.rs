//! What the CPU has answered ([`ppin_persist::cpuid`]). Runs write it by themselves; here it is only
//! verified and removed.

use crate::error::{Context, Error};
use crate::open::Database;
use crate::trust;
use crate::verify::Damage;
use ppin_persist::cpuid::{self, MAX_FILE};
use ppin_persist::paths::CPUID;
use std::io::Read;
use std::path::Path;

impl Database {
    /// What is wrong with the file, if anything is.
    pub(crate) fn damaged_answers(&self) -> Option<Damage> {
        Some(Damage {
            path: CPUID.into(),
            why: fault(&self.path().join(CPUID))?,
            unit: None,
        })
    }

    /// Removes the file if it is damaged.
    pub(crate) fn sweep_answers(&self) -> Result<(), Error> {
        let path = self.path().join(CPUID);
        match fault(&path) {
            Some(_) => self.remove_path(&path),
            None => Ok(()),
        }
    }
}

/// What is wrong with the file; one that is gone is not damaged.
fn fault(path: &Path) -> Option<String> {
    let mut file = match trust::open_file(path) {
        Ok((file, _)) => file,
        Err(_) if !path.exists() => return None,
        Err(error) => return Some(error.to_string()),
    };
    let mut bytes = Vec::new();
    let most = MAX_FILE as u64 + 1;
    if let Err(error) = file
        .by_ref()
        .take(most)
        .read_to_end(&mut bytes)
        .context("read", path)
    {
        return Some(error.to_string());
    }
    let sound = cpuid::decode(&bytes).is_some();
    (!sound).then(|| "the checksum does not match".to_owned())
}
