//! When the runtime and the tools are built again: when a file changes that they were made of, wherever that
//! lies. The nested cargo lists the sources; the manifests of their packages belong to them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Tells the outer cargo what the rule of make at `dep_info` names.
pub fn rerun_if_changed(root: &Path, dep_info: &Path) {
    let rule = fs::read_to_string(dep_info);
    let rule = rule.unwrap_or_else(|e| panic!("{}: {e}", dep_info.display()));
    let sources = sources(&rule);
    let manifests = sources.iter().filter_map(|source| manifest(source));
    let mut files: BTreeSet<PathBuf> = manifests.collect();
    files.extend(sources.iter().cloned());
    // What packages of the workspace inherit, and the versions of all others.
    let locks = ["vm/runtime/Cargo.lock", "tools/plugins/Cargo.lock"];
    files.extend(locks.map(|name| root.join(name)));
    files.insert(root.join("Cargo.toml"));
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

/// The prerequisites in a rule of make: words between spaces; a space in a name has a
/// backslash before it.
pub fn sources(rule: &str) -> Vec<PathBuf> {
    const SPACE: &str = "\u{0}";
    let lines = rule.lines().filter_map(|line| line.split_once(": "));
    let words = lines.flat_map(|(_, names)| {
        let names = names.replace("\\ ", SPACE);
        let words = names
            .split_whitespace()
            .map(|word| word.replace(SPACE, " "));
        words.map(PathBuf::from).collect::<Vec<_>>()
    });
    words.collect()
}

/// The manifest of the package that `source` belongs to.
fn manifest(source: &Path) -> Option<PathBuf> {
    let folders = source.ancestors().skip(1);
    let mut manifests = folders.map(|folder| folder.join("Cargo.toml"));
    manifests.find(|manifest| manifest.exists())
}
