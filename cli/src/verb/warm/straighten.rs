//! `ppin warm --optimize`: code made anew by where branches have led.

use super::Warm;
use super::commands::Command;
use super::runs::{self, Purpose};
use crate::failure::{Failure, failed};
use crate::runtime::ENGINE_ID;
use crate::source;
use crate::text::count;
use crate::tools::{Found, Shelf};
use ppin_abi::addr::ImageOff;
use ppin_cachedb::Database;
use ppin_offline::straighten::{Edges, Straightened, straighten};
use ppin_offline::{Threads, tool_of};
use ppin_persist::UnitFile;
use ppin_plugin::Chosen;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What was made anew.
#[derive(Debug, Default)]
pub struct Made {
    units: u64,
    changed: u64,
    added: u64,
    /// Whether all commands could be run.
    pub whole: bool,
}

impl Made {
    /// For people.
    pub fn text(&self) -> String {
        format!(
            "ppin: {} of {} made anew by where branches led, {} added",
            count(self.changed, "trace"),
            count(self.units, "unit"),
            self.added,
        )
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "units": self.units,
            "traces_changed": self.changed,
            "traces_added": self.added,
        })
    }

    fn add(&mut self, unit: &Straightened) {
        self.changed += u64::from(unit.changed);
        self.added += u64::from(unit.added);
    }
}

/// Runs the `commands` once more, counts where their branches lead, and makes the units of their images anew, which
/// were used at `since` or later.
pub fn by_profile(
    args: &Warm,
    (path, db): (&Path, &Database),
    commands: &[Command],
    since: i64,
) -> Result<Made, Failure> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let round = runs::all(args, path, commands, Purpose::Profile(folder.path()))?;
    let profile = Profile::read(folder.path()).map_err(failed)?;
    let shelf = RefCell::default();
    let mut made = Made {
        whole: round.is_whole(),
        ..Made::default()
    };
    let units = db.rewrite_since(since, |unit| {
        let new = profile.straightened(unit, &shelf)?;
        made.add(&new);
        Some(new.bytes)
    });
    made.units = units.map_err(failed)?;
    Ok(made)
}

/// Where branches led, by path of their image.
struct Profile(HashMap<String, Edges>);

impl Profile {
    /// Reads the reports in `folder`, one for each process; what is none is left out.
    fn read(folder: &Path) -> std::io::Result<Self> {
        let mut profile = Self(HashMap::new());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension() == Some(OsStr::new("json")) {
                let text = fs::read_to_string(&path)?;
                text.lines().for_each(|line| profile.add(line));
            }
        }
        Ok(profile)
    }

    fn add(&mut self, report: &str) {
        let report: Value = serde_json::from_str(report).unwrap_or_default();
        for site in report["sites"].as_array().into_iter().flatten() {
            let number = |key: &str| site[key].as_u64();
            let offset = number("offset").map(|bits| i32::try_from(bits.cast_signed()));
            if let (Some(image), Some(Ok(offset)), Some(executed), Some(taken)) = (
                site["image"].as_str(),
                offset,
                number("executed"),
                number("taken"),
            ) {
                let edges = self.0.entry(image.to_owned()).or_default();
                edges.add(ImageOff(offset), executed, taken);
            }
        }
    }

    /// What takes the place of `unit`, if something does.
    fn straightened(&self, unit: &UnitFile<'_>, shelf: &RefCell<Shelf>) -> Option<Straightened> {
        let key = unit.unit().key();
        let path = Path::new(OsStr::from_bytes(unit.unit().image_path()));
        let edges = self.0.get(path.to_str()?)?;
        let load = |chosen: &Chosen| shelf.borrow_mut().load(&Found::again(chosen)?);
        let ours = key.engine == ENGINE_ID;
        let (tool, optimize) = ours.then(|| tool_of(unit, &load).ok())??;
        let image = source::image(path, &key.image).ok()?;
        straighten(unit, &image, (&*tool, optimize), edges, &Threads::all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_several_processes_are_added_up_by_image() {
        let report = |executed: u64| {
            json!({"tool": "branches", "sites": [
                {"image": "/a", "offset": 16, "executed": executed, "taken": 1},
                {"image": "/b", "offset": u64::MAX, "executed": 2, "taken": 2},
            ]})
        };
        let mut profile = Profile(HashMap::new());
        for text in [report(3).to_string(), report(4).to_string(), "{".to_owned()] {
            profile.add(&text);
        }
        let (mut a, mut b) = (Edges::default(), Edges::default());
        a.add(ImageOff(16), 7, 2);
        b.add(ImageOff(-1), 4, 4);
        assert_eq!(profile.0["/a"], a);
        assert_eq!(profile.0["/b"], b);
    }
}
