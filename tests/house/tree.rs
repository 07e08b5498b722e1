//! The modules of all crates, found from their roots by following `mod` declarations.

pub use crate::parse::Use;
use crate::parse::{self, Child, Mention, Module};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Number of a module in [`Tree::modules`].
pub type Id = usize;
/// Number of a file in [`Tree::files`].
pub type FileId = usize;

/// A module with its place.
pub struct Node {
    pub file: FileId,
    pub parent: Option<Id>,
    /// The crate's own module.
    pub root: Id,
    pub children: HashMap<String, Id>,
    pub items: HashSet<String>,
    pub macros: HashSet<String>,
    pub uses: Vec<Use>,
    pub mentions: Vec<Mention>,
    pub defines: Vec<String>,
    pub takes: Vec<String>,
    pub texts: Vec<String>,
}

/// A source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    pub path: PathBuf,
    /// Folder of its crate.
    pub krate: String,
    /// Lines that are not only compiled for tests.
    pub lines: usize,
    /// How many tests are written in it.
    pub tests: usize,
    pub hidden: Vec<(usize, String)>,
}

/// All modules and files.
#[derive(Default)]
pub struct Tree {
    pub modules: Vec<Node>,
    pub files: Vec<File>,
    /// Libraries by the name under which they are imported.
    pub libs: HashMap<String, Id>,
    by_path: HashMap<PathBuf, FileId>,
}

/// A module's place while its file is read.
#[derive(Clone)]
struct Place {
    krate: String,
    file: PathBuf,
    /// Where files of child modules lie.
    folder: PathBuf,
    /// Only tests compile it.
    is_test: bool,
}

impl Tree {
    /// Adds the modules that `root` leads to. `text` reads a file.
    pub fn add(&mut self, krate: &str, root: &Path, is_test: bool, text: Text<'_>) -> Option<Id> {
        let place = Place {
            krate: krate.to_owned(),
            file: root.to_path_buf(),
            folder: beside(root),
            is_test,
        };
        self.file(&place, None, text)
    }

    /// Reads a file and the modules below it.
    fn file(&mut self, place: &Place, parent: Option<Id>, text: Text<'_>) -> Option<Id> {
        let source = text(&place.file)?;
        let module = parse::file(&source)
            .unwrap_or_else(|error| panic!("{}: {error}", place.file.display()));
        let file = self.number(place, &source, &module);
        self.module(place, file, parent, module, text)
    }

    fn number(&mut self, place: &Place, source: &str, module: &Module) -> FileId {
        if let Some(&file) = self.by_path.get(&place.file) {
            return file;
        }
        let skipped: usize = test_lines(module);
        let all = source.lines().count();
        self.files.push(File {
            path: place.file.clone(),
            krate: place.krate.clone(),
            lines: if place.is_test {
                0
            } else {
                all.saturating_sub(skipped)
            },
            tests: tests(module),
            hidden: if place.is_test {
                Vec::new()
            } else {
                hidden(module)
            },
        });
        self.by_path
            .insert(place.file.clone(), self.files.len() - 1);
        self.files.len() - 1
    }

    /// Adds a module; `None` for one that only tests compile, whose files are counted.
    fn module(
        &mut self,
        place: &Place,
        file: FileId,
        parent: Option<Id>,
        module: Module,
        text: Text<'_>,
    ) -> Option<Id> {
        let id = (!place.is_test).then(|| self.node(file, parent, &module));
        for child in module.children {
            let name = child.name.clone();
            let below = self.child(place, file, id, child, text);
            if let (Some(id), Some(below)) = (id, below) {
                self.modules[id].children.insert(name, below);
            }
        }
        id
    }

    fn node(&mut self, file: FileId, parent: Option<Id>, module: &Module) -> Id {
        let id = self.modules.len();
        self.modules.push(Node {
            file,
            parent,
            root: parent.map_or(id, |parent| self.modules[parent].root),
            children: HashMap::new(),
            items: module.items.iter().cloned().collect(),
            macros: module.macros.iter().cloned().collect(),
            uses: module.uses.clone(),
            mentions: module.mentions.clone(),
            defines: module.defines.clone(),
            takes: module.takes.clone(),
            texts: module.texts.clone(),
        });
        id
    }

    fn child(
        &mut self,
        place: &Place,
        file: FileId,
        parent: Option<Id>,
        child: Child,
        text: Text<'_>,
    ) -> Option<Id> {
        let mut below = place.clone();
        below.is_test |= child.is_test;
        if let Some(body) = child.body {
            below.folder.push(&child.name);
            return self.module(&below, file, parent, body, text);
        }
        let own = place.folder.join(&child.name);
        let places = match &child.path {
            Some(path) => vec![(beside(&place.file).join(path), beside(&place.file))],
            None => vec![
                (own.with_extension("rs"), own.clone()),
                (own.join("mod.rs"), own),
            ],
        };
        let (file, folder) = places.into_iter().find(|(file, _)| text(file).is_some())?;
        self.file(
            &Place {
                file,
                folder,
                ..below
            },
            parent,
            text,
        )
    }
}

/// Reads a file, if there is one.
pub type Text<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The folder that `file` lies in.
fn beside(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).to_path_buf()
}

fn test_lines(module: &Module) -> usize {
    let own: usize = module
        .test_lines
        .iter()
        .map(|lines| lines.end() + 1 - lines.start())
        .sum();
    let inner = module.children.iter().filter(|child| !child.is_test);
    own + inner
        .filter_map(|child| child.body.as_ref())
        .map(test_lines)
        .sum::<usize>()
}

fn tests(module: &Module) -> usize {
    let inner = module
        .children
        .iter()
        .filter_map(|child| child.body.as_ref());
    module.tests + inner.map(tests).sum::<usize>()
}

fn hidden(module: &Module) -> Vec<(usize, String)> {
    let inner = module.children.iter().filter(|child| !child.is_test);
    let inner = inner
        .filter_map(|child| child.body.as_ref())
        .flat_map(hidden);
    module.hidden.iter().cloned().chain(inner).collect()
}
