//! Which file needs which, and which need each other.

use crate::names::Named;
use crate::parse::Use;
use crate::symbols;
use crate::tree::{FileId, Id, Tree};
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::BTreeSet;

/// An arrow from a file to one that it needs.
pub type Arrow = (FileId, FileId);

/// All arrows between different files.
pub fn arrows(tree: &Tree) -> BTreeSet<Arrow> {
    let mut arrows: BTreeSet<Arrow> = symbols::arrows(tree).into_iter().collect();
    for (id, module) in tree.modules.iter().enumerate() {
        let imported = module
            .uses
            .iter()
            .filter_map(|import| import_leads_to(tree, id, import));
        let mentioned = module.mentions.iter().filter_map(|mention| {
            let lookup = if mention.is_macro {
                Tree::lookup_macro
            } else {
                Tree::lookup
            };
            lookup(tree, id, &mention.path)
        });
        let named = imported.chain(mentioned);
        let files = named.filter_map(|named| tree.file_of(named));
        arrows.extend(
            files
                .filter(|&to| to != module.file)
                .map(|to| (module.file, to)),
        );
    }
    arrows
}

/// What an import leads to by itself. A module that is imported is met where its items are
/// mentioned, and so are the names of a glob; what `mod.rs` or `lib.rs` hands on is no arrow.
fn import_leads_to(tree: &Tree, at: Id, import: &Use) -> Option<Named> {
    let hands_on = import.public && is_index(tree, at);
    if hands_on {
        return None;
    }
    tree.lookup(at, &import.path)
}

/// Whether a module's file is one that lists other modules.
fn is_index(tree: &Tree, at: Id) -> bool {
    let path = &tree.files[tree.modules[at].file].path;
    path.file_name()
        .is_some_and(|name| name == "mod.rs" || name == "lib.rs")
}

/// The circles: files of which each needs, by some way, each other one. Largest first.
pub fn circles(files: usize, arrows: &BTreeSet<Arrow>) -> Vec<Vec<FileId>> {
    let mut graph = DiGraph::<(), ()>::new();
    for _ in 0..files {
        graph.add_node(());
    }
    for &(from, to) in arrows {
        graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
    }
    let mut circles: Vec<Vec<FileId>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|circle| circle.len() > 1)
        .map(|circle| circle.into_iter().map(NodeIndex::index).collect())
        .collect();
    circles.iter_mut().for_each(|circle| circle.sort_unstable());
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}
