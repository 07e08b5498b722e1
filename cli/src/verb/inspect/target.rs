//! Finds what the word on the command line names.

use super::load::load;
use super::unit::Unit;
use crate::failure::{Failure, NO};
use crate::mapped::Bytes;
use ppin_cachedb::{Database, ImageEntry};
use ppin_persist::paths::{UnitName, to_hex};
use std::fs;
use std::path::{Path, PathBuf};

/// Shortest beginning of a hash that is taken for one.
const MIN_HASH: usize = 6;

/// A place in an image's code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// An address as linked.
    Address(u64),
    /// A function.
    Symbol(String),
}

/// What the word names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// Images, by position in the listing.
    Image(Vec<usize>),
    /// A unit file, in the database or anywhere else.
    Unit(PathBuf),
    /// Traces in some images.
    Traces {
        /// Positions in the listing.
        images: Vec<usize>,
        /// Which traces.
        place: Place,
    },
}

impl Target {
    /// Reads a word: what names a unit or an image is that, all else an address or
    /// a symbol.
    pub fn of(word: &str, images: &[ImageEntry]) -> Self {
        if let Some(path) = unit_file(word, images) {
            return Self::Unit(path);
        }
        let whole = named(word, images);
        if !whole.is_empty() {
            return Self::Image(whole);
        }
        if let Some((image, place)) = word
            .rsplit_once(':')
            .filter(|(image, _)| !image.ends_with(':'))
        {
            let images = named(image, images);
            if !images.is_empty() {
                return Self::Traces {
                    images,
                    place: place_of(place),
                };
            }
        }
        Self::Traces {
            images: (0..images.len()).collect(),
            place: place_of(word),
        }
    }

    /// The units concerned.
    pub fn units(
        &self,
        db: Option<&Database>,
        images: &[ImageEntry],
    ) -> Result<Vec<Unit>, Failure> {
        let chosen = match self {
            Self::Unit(path) => return unit_at(path, db).map(|unit| vec![unit]),
            Self::Image(chosen) | Self::Traces { images: chosen, .. } => chosen,
        };
        let paths = chosen
            .iter()
            .flat_map(|at| &images[*at].units)
            .map(|unit| &unit.path);
        let Some(db) = db else { return Ok(Vec::new()) };
        let units: Result<Vec<_>, _> = paths.map(|path| load(db, path)).collect();
        Ok(units?.into_iter().flatten().collect())
    }
}

fn unit_at(path: &Path, db: Option<&Database>) -> Result<Unit, Failure> {
    let full = db.map_or_else(|| path.to_owned(), |db| db.path().join(path));
    let refused = |why: String| Failure::new(NO, format!("{}: {why}", full.display()));
    let bytes = fs::File::open(&full).and_then(|file| Bytes::of(&file));
    let bytes = bytes.map_err(|error| refused(error.to_string()))?;
    Unit::new(path.to_owned(), bytes).map_err(|why| refused(why.to_string()))
}

/// A file that looks like a unit, or the name of one in the database.
fn unit_file(word: &str, images: &[ImageEntry]) -> Option<PathBuf> {
    let mut start = [0; 8];
    let opened =
        fs::File::open(word).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    if opened.is_ok() && (&start == b"ppinunit" || word.ends_with(".unit")) {
        return std::path::absolute(word).ok();
    }
    let full = if word.ends_with(".unit") {
        word.to_owned()
    } else {
        format!("{word}.unit")
    };
    let name = UnitName::parse(full.as_bytes())?;
    let mut units = images.iter().flat_map(|image| &image.units);
    units
        .find(|unit| unit.path.name == name)
        .map(|unit| unit.path.relative())
}

/// Positions of the images that `word` names.
fn named(word: &str, images: &[ImageEntry]) -> Vec<usize> {
    let canonical = fs::canonicalize(word).ok();
    let is_hash = word.len() >= MIN_HASH && word.bytes().all(|b| b.is_ascii_hexdigit());
    let names = |image: &&ImageEntry| {
        let path = image.path.as_deref();
        let whole = path.is_some_and(|path| {
            path == Path::new(word) || word.contains('/') && canonical.as_deref() == Some(path)
        });
        let last = path
            .and_then(Path::file_name)
            .is_some_and(|name| name == word);
        let hash = is_hash && to_hex(&image.image).starts_with(&word.to_ascii_lowercase());
        whole || last || hash
    };
    (0..images.len())
        .filter(|at| names(&&images[*at]))
        .collect()
}

fn place_of(word: &str) -> Place {
    let digits = word.strip_prefix("0x");
    let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    address.map_or_else(|| Place::Symbol(word.to_owned()), Place::Address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(path: &str, hash: u8) -> ImageEntry {
        ImageEntry {
            key_dir: [0; 16],
            image: [hash; 32],
            path: Some(path.into()),
            label: "null".to_owned(),
            used: 0,
            units: Vec::new(),
        }
    }

    #[test]
    fn words_are_images_before_they_are_symbols() {
        let images = [image("/x/main", 0xab), image("/x/libc.so.6", 0xcd)];
        let of = |word| Target::of(word, &images);
        assert_eq!(of("main"), Target::Image(vec![0]));
        assert_eq!(of("/x/libc.so.6"), Target::Image(vec![1]));
        assert_eq!(of("CDCDCD"), Target::Image(vec![1]));
        let malloc = Place::Symbol("malloc".into());
        assert_eq!(
            of("malloc"),
            Target::Traces {
                images: vec![0, 1],
                place: malloc.clone()
            }
        );
        assert_eq!(
            of("libc.so.6:malloc"),
            Target::Traces {
                images: vec![1],
                place: malloc
            }
        );
        let address = Place::Address(0x1040);
        assert_eq!(
            of("main:0x1040"),
            Target::Traces {
                images: vec![0],
                place: address
            }
        );
        let method = Place::Symbol("a::b".into());
        assert_eq!(
            of("a::b"),
            Target::Traces {
                images: vec![0, 1],
                place: method
            }
        );
    }
}
