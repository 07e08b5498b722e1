//! Dependencies that nothing uses: of a crate, and of the workspace's own list.

use crate::crates::{Crate, project};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A line for each.
pub fn complaints(crates: &[Crate]) -> Vec<String> {
    let project = project();
    let mut found: Vec<String> = crates
        .iter()
        .flat_map(|krate| of_crate(&project, krate))
        .collect();
    let manifests: Vec<String> = crates
        .iter()
        .filter_map(|krate| fs::read_to_string(project.join(&krate.folder).join("Cargo.toml")).ok())
        .collect();
    let workspace = fs::read_to_string(project.join("Cargo.toml")).unwrap_or_default();
    found.extend(
        of_workspace(&workspace, &manifests).map(|name| {
            format!("no crate asks the workspace for {name}: remove it from Cargo.toml")
        }),
    );
    found
}

fn of_crate(project: &Path, krate: &Crate) -> Vec<String> {
    let mut words = BTreeSet::new();
    words_below(&project.join(&krate.folder), &mut words);
    let unused = krate.imports.iter().filter(|name| !words.contains(*name));
    unused
        .map(|name| {
            format!(
                "{} does not use {name}: remove it from Cargo.toml",
                krate.folder
            )
        })
        .collect()
}

/// Names in `[workspace.dependencies]` that no manifest mentions.
pub fn of_workspace<'a>(
    workspace: &'a str,
    manifests: &'a [String],
) -> impl Iterator<Item = &'a str> {
    let list = workspace
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1);
    let names = list
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| Some(line.split_once('=')?.0.trim()));
    names.filter(|name| !manifests.iter().any(|manifest| asks_for(manifest, name)))
}

fn asks_for(manifest: &str, name: &str) -> bool {
    let rest = manifest.lines().filter_map(|line| line.strip_prefix(name));
    rest.into_iter().any(|rest| {
        let rest = rest.trim_start();
        rest.starts_with(".workspace") || (rest.starts_with('=') && rest.contains("workspace"))
    })
}

/// All names in the Rust files below `folder`.
fn words_below(folder: &Path, words: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "target" {
                words_below(&path, words);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            words.extend(
                code.flat_map(|line| line.split(|c| !is_part(c)))
                    .map(str::to_owned),
            );
        }
    }
}
