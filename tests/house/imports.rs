//! The names that a `use` brings in.

use crate::parse::plain;
use syn::UseTree;

/// Each name of a tree of imports, with its whole path.
pub fn expand(tree: &UseTree, path: &mut Vec<String>, found: &mut impl FnMut(Vec<String>, String)) {
    match tree {
        UseTree::Path(inner) => {
            path.push(plain(&inner.ident));
            expand(&inner.tree, path, found);
            path.pop();
        }
        UseTree::Name(name) => leaf(path, plain(&name.ident), None, found),
        UseTree::Rename(name) => {
            leaf(path, plain(&name.ident), Some(plain(&name.rename)), found);
        }
        UseTree::Glob(_) => found(path.clone(), String::from("*")),
        UseTree::Group(group) => {
            for tree in &group.items {
                expand(tree, path, found);
            }
        }
    }
}

fn leaf(
    path: &[String],
    name: String,
    renamed: Option<String>,
    found: &mut impl FnMut(Vec<String>, String),
) {
    let mut path = path.to_vec();
    if name != "self" || path.is_empty() {
        path.push(name);
    }
    let name = renamed.unwrap_or_else(|| path.last().cloned().unwrap_or_default());
    found(path, name);
}
