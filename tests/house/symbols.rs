//! Calls through names that the linker resolves: `extern` functions and symbols of assembly.
//!
//! They are arrows as imports are, from the file that takes a symbol to the one that defines it.

use crate::tree::{FileId, Tree};
use std::collections::HashMap;

/// All such arrows.
pub fn arrows(tree: &Tree) -> Vec<(FileId, FileId)> {
    let mut defined: HashMap<&str, FileId> = HashMap::new();
    for module in &tree.modules {
        defined.extend(
            module
                .defines
                .iter()
                .map(|name| (name.as_str(), module.file)),
        );
    }
    let mut arrows = Vec::new();
    for module in &tree.modules {
        let taken = module.takes.iter().map(String::as_str);
        let texts = module.texts.iter().flat_map(|text| words(text));
        let files = taken.chain(texts).filter_map(|name| defined.get(name));
        arrows.extend(
            files
                .map(|&file| (module.file, file))
                .filter(|(from, to)| from != to),
        );
    }
    arrows
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}
