//! `ppin warm --static`: the code of programs and libraries that are not run.
//!
//! What loads a program is asked to list what it would load (as `ldd -r` does), under ppin: the image is in memory then
//! as it is when it runs, relocated, so that restartable sequences are seen and nothing is kept that may not be. At the
//! end the runtime translates what the functions of the image lead to.

use super::Warm;
use super::learnt::Learnt;
use super::runs::{self, Purpose, Round};
use super::unrun::Unrun;
use crate::failure::{Failure, failed};
use crate::preflight::reason;
use crate::text::Progress;
use ppin_abi::places;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What there is no room for in one process is left to the next.
const MOST_ROUNDS: usize = 64;

/// Translates all images that `args` name.
pub fn all(args: &Warm, db: &Path) -> Result<Round, Failure> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let (mut round, progress) = (Round::default(), Progress::new("translating"));
    for (done, path) in args.command.iter().enumerate() {
        progress.at(done as u64, args.command.len() as u64);
        let learnt = image(args, db, Path::new(path), folder.path());
        round.add(std::slice::from_ref(path), learnt);
    }
    Ok(round)
}

/// The command by which `loader` lists what `path` needs, and relocates it (with what [`runs`] sets: `ld.so`(8); the one of
/// musl does so anyway). Others might run it.
fn lister(loader: OsString, path: &Path) -> Result<Vec<OsString>, String> {
    let name = Path::new(&loader)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let path = path.as_os_str().to_owned();
    match () {
        () if name.starts_with("ld-linux") => Ok(vec![loader, path]),
        () if name.starts_with("ld-musl") => Ok(vec![loader, "--list".into(), path]),
        () => Err(format!("its loader {} is not known", loader.display())),
    }
}

/// Translates the image at `path`, with a file in `folder`.
fn image(args: &Warm, db: &Path, path: &Path, folder: &Path) -> Result<Learnt, String> {
    let path = fs::canonicalize(path).map_err(|error| reason(&error))?;
    let image = Unrun::read(&path)?;
    let file = folder.join("places");
    let places = image
        .places
        .iter()
        .flat_map(|place| places::written(*place));
    let bytes: Vec<u8> = path
        .as_os_str()
        .as_bytes()
        .iter()
        .copied()
        .chain([places::END])
        .chain(places)
        .collect();
    fs::write(&file, bytes).map_err(|error| reason(&error))?;
    let words = lister(image.loader, &path)?;
    let mut learnt = Learnt::default();
    for _ in 0..MOST_ROUNDS {
        let mut more = runs::run(args, db, &words, Purpose::List(&file), true)?;
        let left = more.take_reason(places::LEFT);
        learnt.join(more, "its loader");
        if !left {
            return Ok(learnt);
        }
    }
    Err(format!(
        "{} is not all translated: it is too large",
        path.display()
    ))
}
