//! Which object a word of the command line means, and what it says of itself.

use crate::preflight::reason;
use crate::runtime::{Bundled, TOOLS};
use ppin_persist::object_hash;
use ppin_plugin::{Card, Chosen, MAX_FILE, Object};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A tool's object, judged, and never run yet.
#[derive(Debug)]
pub struct Found {
    /// What the tool says of itself.
    pub card: Card,
    /// Name or path, hash and place; no knobs.
    pub chosen: Chosen,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Carried(&'static [u8]),
    Read(Vec<u8>),
}

/// The bundled tools, by name.
///
/// # Errors
/// Why one of them cannot be used.
pub fn bundled() -> Result<Vec<Found>, String> {
    TOOLS.iter().map(Found::bundled).collect()
}

impl Found {
    /// The tool that `word` means: the path of an object if it contains a slash, else the name of a
    /// bundled tool.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub fn by_word(word: &str) -> Result<Self, String> {
        if Chosen::is_path(word) {
            return Self::by_path(word)
                .map_err(|why| format!("cannot load the tool {word}: {why}"));
        }
        let bundled = TOOLS.iter().find(|tool| tool.name == word);
        let bundled = bundled.ok_or_else(|| {
            let names: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
            let path = match Path::new(word).exists() {
                true => format!("; for the file of that name say ./{word}"),
                false => String::new(),
            };
            let names = names.join(", ");
            format!("there is no tool {word} (there are: {names}{path})")
        })?;
        Self::bundled(bundled)
    }

    /// The tool that a unit was made for.
    ///
    /// # Errors
    /// Why it cannot be had, in a sentence.
    pub fn again(chosen: &Chosen) -> Result<Self, String> {
        let name = &chosen.name;
        let found = Self::by_word(name)?;
        match (found.chosen.hash == chosen.hash, Chosen::is_path(name)) {
            (true, _) => Ok(found),
            (false, true) => Err(format!("the tool {name} has changed since")),
            (false, false) => Err(format!("made with another build of the tool {name}")),
        }
    }

    fn bundled(tool: &Bundled) -> Result<Self, String> {
        let span = tool.span().ok_or("this executable holds no tools")?;
        let chosen = Chosen {
            name: tool.name.to_owned(),
            hash: tool.hash,
            place: (span.offset, span.len),
            knobs: Vec::new(),
        };
        Self::of(chosen, Bytes::Carried(tool.bytes()))
    }

    fn by_path(word: &str) -> Result<Self, String> {
        let path = std::path::absolute(word).map_err(|error| reason(&error))?;
        let name = path.to_str().filter(|path| !path.contains('\n'));
        let name = name.ok_or("its path is not plain text")?.to_owned();
        let bytes = read(&path)?;
        let chosen = Chosen {
            name,
            hash: object_hash(&bytes),
            place: (0, 0),
            knobs: Vec::new(),
        };
        Self::of(chosen, Bytes::Read(bytes))
    }

    fn of(chosen: Chosen, bytes: Bytes) -> Result<Self, String> {
        let object = Object::parse(bytes.get()).map_err(|why| why.to_string())?;
        let card = Card::read(&object, ppin_door::opcodes()).map_err(|why| why.to_string())?;
        Ok(Self {
            card,
            chosen,
            bytes,
        })
    }

    /// The object.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get()
    }
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Carried(bytes) => bytes,
            Self::Read(bytes) => bytes,
        }
    }
}

/// The contents of the file at `path`, which may be any file: opening it does not wait.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    const O_NONBLOCK: i32 = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let said = |error: io::Error| reason(&error);
    let mut options = File::options();
    let file = options.read(true).custom_flags(O_NONBLOCK).open(path);
    let file = file.map_err(said)?;
    let about = file.metadata().map_err(said)?;
    judge(&about)?;
    let mut bytes = Vec::with_capacity(about.len().min(MAX_FILE) as usize + 1);
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(said)?;
    Ok(bytes)
}

/// A tool is named by its user, as a program is, and runs with the same rights: whose file it is
/// does not matter. But a file that anybody may write to is a mistake.
fn judge(file: &Metadata) -> Result<(), String> {
    const ANYBODY_WRITES: u32 = 0o002;
    if !file.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    match file.mode() & ANYBODY_WRITES {
        0 => Ok(()),
        _ => Err(format!(
            "anybody may write to it (mode {:03o})",
            file.mode() & 0o7777
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn bundled_tools_have_the_names_that_they_say() {
        let all = bundled().unwrap();
        assert!(all.len() >= 5);
        for found in all {
            assert_eq!(found.card.name, found.chosen.name);
            assert_eq!(found.chosen.hash, object_hash(found.bytes()));
            assert!(found.chosen.place.0.is_multiple_of(4096));
        }
    }

    #[test]
    fn a_word_without_a_slash_is_a_name() {
        let why = Found::by_word("nothing").unwrap_err();
        assert!(why.contains("bbcount") && !why.contains("./"), "{why}");
        let why = Found::by_word("src").unwrap_err();
        assert!(why.contains("./src"), "{why}");
    }

    #[test]
    fn a_file_is_a_tool_if_it_is_well_formed_and_nobody_else_writes_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tool.so");
        let word = path.to_str().unwrap();
        let why = || Found::by_word(word).unwrap_err();
        assert!(why().contains("No such file"), "{}", why());
        let bytes = TOOLS[0].bytes();
        fs::write(&path, bytes).unwrap();
        let found = Found::by_word(word).unwrap();
        assert_eq!(found.card.name, TOOLS[0].name);
        assert_eq!(
            (found.chosen.name.as_str(), found.chosen.hash),
            (word, TOOLS[0].hash)
        );
        assert!(Found::again(&found.chosen).is_ok());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o646)).unwrap();
        assert!(why().contains("anybody may write"), "{}", why());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(why().contains("shorter"), "{}", why());
        let folder = folder.path().to_str().unwrap();
        let why = Found::by_word(folder).unwrap_err();
        assert!(why.contains("not a regular file"), "{why}");
    }

    #[test]
    fn another_build_is_not_the_tool_of_a_unit() {
        let chosen = Chosen {
            name: TOOLS[0].name.into(),
            ..Chosen::default()
        };
        let why = Found::again(&chosen).unwrap_err();
        assert!(why.contains("another build"), "{why}");
    }
}
