//! The cargo that builds what ppin loads into programs: the runtime, and the bundled tools.
//!
//! Both are packages outside the workspace: as members they would be compiled with the std
//! features that other members ask of shared dependencies. They are always optimized and
//! never see the flags of the outer build (their bytes are part of the identity of persisted
//! code).

use super::variable::variable;
use super::{order, rustc};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Variables of the outer build that would change the inner one.
const FOREIGN: [&str; 11] = [
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_LINKER",
    "CLIPPY_ARGS",
    "TARGET",
    "HOST",
    "PROFILE",
    "DEBUG",
];

/// Beginnings of such names.
const FOREIGN_KINDS: [&str; 10] = [
    "CARGO_BUILD_",
    "CARGO_CFG_",
    "CARGO_ENCODED_",
    "CARGO_FEATURE_",
    "CARGO_LLVM_",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_PRIMARY_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
];

/// Files that a build makes.
pub struct Built {
    /// The object, with symbols and line tables.
    pub elf: PathBuf,
    /// The files that it was made of, as a rule of make.
    pub dep_info: PathBuf,
}

impl Built {
    /// The object's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.elf).unwrap_or_else(|e| panic!("{}: {e}", self.elf.display()))
    }
}

/// A folder of its own below the shared target folder: `target/PROFILE/build/ppin-HASH/out`
/// lies four levels deep.
fn target_dir(out: &Path, name: &str) -> PathBuf {
    out.ancestors().nth(4).unwrap_or(out).join(name)
}

/// Builds the runtime of the workspace at `root`.
pub fn runtime(root: &Path, out: &Path) -> Built {
    let target = target_dir(out, "runtime");
    let (made, order) = (target.join("release/ppin-runtime"), target.join("order"));
    let known = fs::read_to_string(&order).unwrap_or_default();
    build(root, "vm/runtime", &target, &[], &ordered(&order, &known));
    let linked = fs::read(&made).unwrap_or_else(|e| panic!("{}: {e}", made.display()));
    let right = order::of(&linked).unwrap_or_default();
    if right != known {
        fs::write(&order, &right).expect("the target folder is writable");
        build(root, "vm/runtime", &target, &[], &ordered(&order, &right));
    }
    Built {
        dep_info: made.with_extension("d"),
        elf: made,
    }
}

/// Tells the runtime's build script of the order of functions in the file `order`: its name, and
/// a hash of its contents, so that the runtime is linked again when they change.
fn ordered(order: &Path, contents: &str) -> Vec<(&'static str, OsString)> {
    match contents {
        "" => Vec::new(),
        _ => vec![
            ("PPIN_ORDER", order.into()),
            ("PPIN_ORDER_HASH", super::hash(contents.as_bytes()).into()),
        ],
    }
}

/// Builds the bundled tools, by name, one for each example of their package.
pub fn tools(root: &Path, out: &Path) -> BTreeMap<String, Built> {
    const PACKAGE: &str = "tools/plugins";
    let target = target_dir(out, "plugins");
    build(root, PACKAGE, &target, &["--examples"], &[]);
    let folder = root.join(PACKAGE).join("examples");
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let names = files.filter_map(|file| file.ok()?.path().file_stem()?.to_str().map(str::to_owned));
    names
        .map(|name| {
            let made = target.join(format!("release/examples/lib{name}.so"));
            let built = Built {
                dep_info: made.with_extension("d"),
                elf: made,
            };
            (name, built)
        })
        .collect()
}

/// Builds `package`. `Cargo.lock` is followed, not enforced: a new tool adds itself to it.
fn build(
    root: &Path,
    package: &str,
    target: &Path,
    options: &[&str],
    variables: &[(&str, OsString)],
) {
    let package = root.join(package);
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(&package)
        .args(["build", "--release", "--quiet"])
        .args(options);
    cargo.arg("--target-dir").arg(target);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if FOREIGN.contains(&&*text) || FOREIGN_KINDS.iter().any(|kind| text.starts_with(kind)) {
            cargo.env_remove(&name);
        }
    }
    cargo.envs(variables.iter().map(|(name, value)| (name, value)));
    rustc::stand_in(&mut cargo, root);
    let status = cargo.status().expect("cargo runs");
    let package = package.display();
    assert!(
        status.success(),
        "building {package} failed (its errors stand above)"
    );
}
