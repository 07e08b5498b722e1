//! To which file a path leads: through imports, re-exports and globs, as the compiler goes.

use crate::tree::{FileId, Id, Tree, Use};

/// How many imports a name is followed through; more is a loop.
const FAR: usize = 24;

/// What a path names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// A module itself.
    Module(Id),
    /// Something that is declared in a module: a type, a function, a macro.
    Item(Id),
}

impl Tree {
    /// What `path` names in module `at`, if it is ours.
    pub fn lookup(&self, at: Id, path: &[String]) -> Option<Named> {
        self.begin(at, path, FAR)
    }

    /// What a macro that is called `path` in module `at` is: declared anywhere above in its
    /// crate, if the path does not say where.
    pub fn lookup_macro(&self, at: Id, path: &[String]) -> Option<Named> {
        self.lookup(at, path)
            .filter(|named| matches!(named, Named::Item(_)))
            .or_else(|| {
                let [name] = path else {
                    return None;
                };
                let root = self.modules[at].root;
                let of_crate = |(_, node): &(Id, &crate::tree::Node)| node.root == root;
                let mut all = self.modules.iter().enumerate().filter(of_crate);
                all.find(|(_, node)| node.macros.contains(name))
                    .map(|(id, _)| Named::Item(id))
            })
    }

    /// The file in which something declared lies.
    pub fn file_of(&self, named: Named) -> Option<FileId> {
        match named {
            Named::Item(id) => Some(self.modules[id].file),
            Named::Module(_) => None,
        }
    }

    fn begin(&self, at: Id, path: &[String], far: usize) -> Option<Named> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.within(self.modules[at].root, rest, far),
            "self" => self.within(at, rest, far),
            "super" => self.begin_above(self.modules[at].parent?, rest, far),
            _ => self
                .within(at, path, far)
                .or_else(|| self.within(*self.libs.get(first)?, rest, far)),
        }
    }

    fn begin_above(&self, at: Id, path: &[String], far: usize) -> Option<Named> {
        match path.split_first() {
            Some((first, rest)) if first == "super" => {
                self.begin_above(self.modules[at].parent?, rest, far)
            }
            _ => self.within(at, path, far),
        }
    }

    /// What `path` names below module `at`.
    fn within(&self, at: Id, path: &[String], far: usize) -> Option<Named> {
        let Some((name, rest)) = path.split_first() else {
            return Some(Named::Module(at));
        };
        let far = far.checked_sub(1)?;
        let child = || self.within(*self.modules[at].children.get(name)?, rest, far);
        let item = || {
            self.modules[at]
                .items
                .contains(name)
                .then_some(Named::Item(at))
        };
        let import = || self.imported(at, name, rest, far);
        // A name may be a module and a function at once; only a module has names below it.
        let found = if rest.is_empty() {
            item().or_else(import).or_else(child)
        } else {
            child().or_else(import).or_else(item)
        };
        found.or_else(|| self.by_glob(at, path, far))
    }

    fn imported(&self, at: Id, name: &str, rest: &[String], far: usize) -> Option<Named> {
        let uses = self.modules[at].uses.iter().filter(|u| u.name == name);
        let mut found = uses.filter_map(|u| {
            let path = [&u.path[..], rest].concat();
            self.import_begin(at, u, &path, far)
        });
        found.next()
    }

    /// An import does not find itself.
    fn import_begin(&self, at: Id, import: &Use, path: &[String], far: usize) -> Option<Named> {
        if path.first() == Some(&import.name) && !self.modules[at].children.contains_key(&path[0]) {
            let lib = *self.libs.get(&path[0])?;
            return self.within(lib, &path[1..], far);
        }
        self.begin(at, path, far)
    }

    fn by_glob(&self, at: Id, path: &[String], far: usize) -> Option<Named> {
        let globs = self.modules[at].uses.iter().filter(|u| u.name == "*");
        let mut found = globs.filter_map(|u| match self.begin(at, &u.path, far)? {
            Named::Module(id) if id != at => self.within(id, path, far),
            _ => None,
        });
        found.next()
    }
}
