//! All that is measured of the project, read once.

use crate::crates::{self, Crate, Kind};
use crate::graph::{self, Arrow};
use crate::tree::{File, FileId, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

/// The project as its sources show it.
pub struct House {
    pub crates: Vec<Crate>,
    pub files: Vec<File>,
    pub arrows: BTreeSet<Arrow>,
    /// Files that need each other, largest circle first.
    pub circles: Vec<Vec<FileId>>,
}

impl House {
    /// The project that this test belongs to.
    pub fn ours() -> &'static Self {
        static OURS: OnceLock<House> = OnceLock::new();
        OURS.get_or_init(|| House::read(crates::all(), &|file| std::fs::read_to_string(file).ok()))
    }

    /// Reads the sources of `crates` through `text`.
    pub fn read(crates: Vec<Crate>, text: &dyn Fn(&Path) -> Option<String>) -> Self {
        let mut tree = Tree::default();
        for kind in [Kind::Source, Kind::Test] {
            for (krate, root) in roots(&crates, kind) {
                let id = tree.add(&krate.folder, &root.file, kind == Kind::Test, text);
                if let (Some(lib), Some(id)) = (&root.lib, id) {
                    tree.libs.insert(lib.clone(), id);
                }
            }
        }
        let arrows = graph::arrows(&tree);
        let circles = graph::circles(tree.files.len(), &arrows);
        Self {
            crates,
            files: tree.files,
            arrows,
            circles,
        }
    }

    /// Lines of source of a crate.
    pub fn lines(&self, folder: &str) -> usize {
        self.of(folder).map(|file| file.lines).sum()
    }

    /// Tests of a crate.
    pub fn tests(&self, folder: &str) -> usize {
        self.of(folder).map(|file| file.tests).sum()
    }

    /// The largest circle of which this crate has the most files; empty without one.
    pub fn circle(&self, folder: &str) -> &[FileId] {
        let here = |circle: &&Vec<FileId>| self.owner(circle) == folder;
        self.circles.iter().find(here).map_or(&[], Vec::as_slice)
    }

    fn owner(&self, circle: &[FileId]) -> &str {
        let mut files = BTreeMap::new();
        for &file in circle {
            *files.entry(&*self.files[file].krate).or_insert(0) += 1;
        }
        files
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map_or("", |(krate, _)| krate)
    }

    fn of(&self, folder: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.krate == folder)
    }

    /// Lines of source of all that is shipped.
    pub fn all_lines(&self) -> usize {
        self.shipped().map(|krate| self.lines(&krate.folder)).sum()
    }

    /// The crates whose code reaches users.
    pub fn shipped(&self) -> impl Iterator<Item = &Crate> {
        self.crates
            .iter()
            .filter(|krate| !["tests", "benches"].contains(&&*krate.folder))
    }
}

fn roots(crates: &[Crate], kind: Kind) -> impl Iterator<Item = (&Crate, &crate::crates::Root)> {
    crates.iter().flat_map(move |krate| {
        krate
            .roots
            .iter()
            .filter(move |root| root.kind == kind)
            .map(move |root| (krate, root))
    })
}
