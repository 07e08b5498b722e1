//! The cargo that builds the runtime.
//!
//! The runtime is a package outside the workspace: as a member it would be compiled
//! with the std features that other members ask of shared dependencies. It is always
//! optimized and never sees the flags of the outer build (its code is part of the
//! identity of persisted code).

use super::rustc;
use super::variable::variable;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Files that the build makes.
pub struct Built {
    /// The runtime, with symbols and line tables.
    pub elf: PathBuf,
    /// The files that it was made of, as a rule of make.
    pub dep_info: PathBuf,
}

/// A folder of the runtime's own below the shared target folder:
/// `target/PROFILE/build/ppin-HASH/out` lies four levels deep.
pub fn target_dir(out: &Path) -> PathBuf {
    out.ancestors().nth(4).unwrap_or(out).join("runtime")
}

/// Builds the runtime of the workspace at `root`. `Cargo.lock` is followed, not enforced:
/// a new tool adds itself to it.
pub fn build(root: &Path, target: &Path) -> Built {
    let package = root.join("vm/runtime");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(&package)
        .args(["build", "--release", "--quiet"]);
    cargo.arg("--target-dir").arg(target);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if FOREIGN.contains(&&*text) || FOREIGN_KINDS.iter().any(|kind| text.starts_with(kind)) {
            cargo.env_remove(&name);
        }
    }
    rustc::stand_in(&mut cargo, root);
    let status = cargo.status().expect("cargo runs");
    let package = package.display();
    assert!(
        status.success(),
        "building the runtime in {package} failed (its errors stand above)"
    );
    Built {
        elf: target.join("release/ppin-runtime"),
        dep_info: target.join("release/ppin-runtime.d"),
    }
}
