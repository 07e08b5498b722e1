//! The crates of the project and what cargo knows of them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a root file is compiled to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Library, executable or build script.
    Source,
    /// Test, example or benchmark.
    Test,
}

/// A root file, from which `mod` declarations lead to the others.
#[derive(Clone, Debug)]
pub struct Root {
    pub kind: Kind,
    pub file: PathBuf,
    /// By what name other crates import it, if it is a library.
    pub lib: Option<String>,
}

/// A package.
#[derive(Clone, Debug)]
pub struct Crate {
    /// Folder below the project's, which names the crate everywhere here.
    pub folder: String,
    pub roots: Vec<Root>,
    /// Folders of the project's crates that it depends on to be built; tests may need more.
    pub depends: Vec<String>,
    /// Names by which its sources mention what it depends on to be built.
    pub imports: Vec<String>,
}

/// The project's folder.
pub fn project() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("tests lies in the project")
        .to_path_buf()
}

/// Packages that are workspaces of their own.
const APART: [&str; 3] = ["vm/runtime", "tools/plugins", "tools/template"];

/// All crates: the workspace's members, and those that are workspaces of their own.
pub fn all() -> Vec<Crate> {
    let project = project();
    let mut crates = listed(&project, "Cargo.toml");
    for folder in APART {
        crates.extend(listed(&project, &format!("{folder}/Cargo.toml")));
    }
    crates.sort_by(|a, b| a.folder.cmp(&b.folder));
    crates
}

fn listed(project: &Path, manifest: &str) -> Vec<Crate> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--quiet",
            "--offline",
            "--no-deps",
            "--format-version",
            "1",
        ])
        .arg("--manifest-path")
        .arg(project.join(manifest))
        .output()
        .expect("cargo metadata runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    elements(&metadata["packages"])
        .map(|package| read(project, package))
        .collect()
}

fn read(project: &Path, package: &Value) -> Crate {
    let manifest = Path::new(text(&package["manifest_path"]));
    let folder = below(
        project,
        manifest.parent().expect("a manifest lies in a folder"),
    );
    let built = || elements(&package["dependencies"]).filter(|d| d["kind"].as_str() != Some("dev"));
    let ours = built().filter_map(|dependency| dependency["path"].as_str());
    Crate {
        roots: elements(&package["targets"]).map(root).collect(),
        depends: ours.map(|path| below(project, Path::new(path))).collect(),
        imports: built().map(import).collect(),
        folder,
    }
}

/// By what name sources mention a dependency; what is ours goes by its library's name.
fn import(dependency: &Value) -> String {
    let name = dependency["rename"]
        .as_str()
        .unwrap_or(text(&dependency["name"]));
    name.replace('-', "_")
}

fn root(target: &Value) -> Root {
    let kinds: Vec<&str> = elements(&target["kind"]).map(text).collect();
    let is_test = kinds
        .iter()
        .any(|kind| ["test", "bench", "example"].contains(kind));
    Root {
        kind: if is_test { Kind::Test } else { Kind::Source },
        file: PathBuf::from(text(&target["src_path"])),
        lib: kinds
            .contains(&"lib")
            .then(|| text(&target["name"]).replace('-', "_")),
    }
}

/// `path` below the project's folder.
pub fn below(project: &Path, path: &Path) -> String {
    path.strip_prefix(project)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
