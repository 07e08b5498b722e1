//! Builds the runtime ELF, which the `ppin` executable carries inside.
//!
//! The runtime is a package outside the workspace, built by a cargo of its own:
//! as a member it would be compiled with the std features that other members ask
//! of shared dependencies. It is always optimized and never sees the flags of the
//! outer build (its code is part of the identity of persisted code).

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What the runtime is made of, seen from the workspace's root.
const SOURCES: [&str; 4] = ["vm", "relocator", "persist", "tools"];

/// Variables of the outer build that would change the inner one.
const FOREIGN: [&str; 10] = [
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
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

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let root = here.parent().expect("the workspace holds this package");
    println!("cargo::rerun-if-changed=build.rs");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    link_unwinder_statically();
    let out = PathBuf::from(variable("OUT_DIR"));
    let elf = build(&root.join("vm/runtime"), &target_dir(&out));
    let bytes = fs::read(&elf).unwrap_or_else(|e| panic!("{}: {e}", elf.display()));
    fs::write(out.join("runtime.elf"), &bytes).expect("OUT_DIR is writable");
    let id: [u8; 32] = Sha256::digest(&bytes).into();
    fs::write(out.join("engine_id.in"), format!("{id:?}")).expect("OUT_DIR is writable");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// Every `ppin run` pays for each library that the loader maps: about 100 us for
/// libgcc_s, of which nothing is ever called, since panics abort. The static
/// unwinder comes with the same compiler; a linker that prefers the shared one is
/// merely slower at start.
fn link_unwinder_statically() {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let asked = Command::new(compiler)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    let Ok(answer) = asked else { return };
    let archive = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    if archive.is_absolute() && archive.exists() {
        let folder = archive.parent().unwrap_or(&archive);
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static=gcc_eh");
    }
}

/// A folder of the runtime's own below the shared target folder:
/// `target/PROFILE/build/ppin-HASH/out` lies four levels deep.
fn target_dir(out: &Path) -> PathBuf {
    out.ancestors().nth(4).unwrap_or(out).join("runtime")
}

fn build(package: &Path, target: &Path) -> PathBuf {
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(package)
        .args(["build", "--release", "--locked", "--quiet"]);
    cargo.arg("--target-dir").arg(target);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if FOREIGN.contains(&&*text) || FOREIGN_KINDS.iter().any(|kind| text.starts_with(kind)) {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().expect("cargo runs");
    assert!(
        status.success(),
        "building the runtime in {} failed",
        package.display()
    );
    target.join("release/ppin-runtime")
}
